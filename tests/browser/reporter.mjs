// One line for each case as it ends, with its seconds; then what failed, and why.
import { inspect } from 'node:util';

export default async function* report(events) {
  const failed = [];
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const isSuite = data.details?.type === 'suite';
    if (isSuite && type === 'test:pass') continue;
    if (type === 'test:fail' && data.details.error?.failureType !== 'subtestsFailed') failed.push(data);
    yield `${type === 'test:pass' ? (data.skip ? 'skip' : 'ok  ') : 'FAIL'} ${(data.details.duration_ms / 1000).toFixed(1).padStart(6)} s  ${data.name}\n`;
  }
  for (const { name, details } of failed) yield `\nFAIL ${name}\n${inspect(details.error.cause ?? details.error, { depth: 4 })}\n`;
}
