// Gzip copies beside the files of the bundle, for who can read them; the same bytes each time.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const dist = new URL('dist', import.meta.url).pathname;
for (const name of readdirSync(dist, { recursive: true })) {
  if (!/\.(js|css|svg|html)$/.test(name)) continue;
  const packed = gzipSync(readFileSync(join(dist, name)), { level: 9 });
  packed.fill(0, 4, 8); // the time
  packed[9] = 255; // the system
  writeFileSync(join(dist, `${name}.gz`), packed);
}
