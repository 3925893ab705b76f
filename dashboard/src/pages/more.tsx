// The phone's fifth tab: all pages that have none of their own.
import { stats } from '../live';
import { pages } from '../pages';
import { Icon } from '../parts/icons';
import { href } from '../router';

export function More() {
  return (
    <>
      <h1>More</h1>
      <ul class="more-list panel">
        {pages.map((page) => { const badge = stats.value && page.badge?.(stats.value); return <li key={page.path}><a href={page.path ? href(page.path) : href()}><Icon name={page.icon} size={18} /><span>{page.name}</span>{badge && <span class="dim">{badge}</span>}</a></li>; })}
      </ul>
    </>
  );
}
