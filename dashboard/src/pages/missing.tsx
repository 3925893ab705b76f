import { Empty } from '../parts/bits';
import { href } from '../router';

export function Missing() {
  return <><h1>Not found</h1><div class="panel"><Empty title="No page has this address">Go to the <a href={href()}>Overview</a>, or find a page with Ctrl-K.</Empty></div></>;
}
