// What is typed into a filter: "queue:orders state:due key:customer:4711 no route" are four filters at once.

/// Pairs of a name and its value, in the order typed. What stands before the first name is `text`'s, if there is such a filter.
export function parseFilters(typed: string, names: readonly string[], text?: string): [string, string][] {
  const start = new RegExp(`(?:^|\\s)(${names.join('|')}):`, 'g');
  const found = [...typed.matchAll(start)];
  const before = typed.slice(0, found[0]?.index ?? typed.length).trim();
  const pairs: [string, string][] = before && text ? [[text, before]] : [];
  found.forEach((match, i) => {
    const value = typed.slice(match.index + match[0].length, found[i + 1]?.index).trim();
    if (value) pairs.push([match[1], value]);
  });
  return pairs;
}
