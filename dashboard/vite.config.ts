import preact from '@preact/preset-vite';
import { defineConfig } from 'vitest/config';

// In the bundle all addresses are relative, so that it works behind any prefix (src/router.ts). `npm run dev` asks a running
// node: ORDO_URL, by default http://127.0.0.1:8080.
const node = process.env.ORDO_URL ?? 'http://127.0.0.1:8080';
const proxy = {
  target: node,
  changeOrigin: true,
  configure: (server: { on: (event: string, act: (request: { removeHeader: (name: string) => void }) => void) => void }) =>
    server.on('proxyReq', (request) => {
      for (const name of ['origin', 'referer', 'sec-fetch-site']) request.removeHeader(name);
    }),
};

export default defineConfig(({ command }) => ({
  base: command === 'build' ? './' : '/',
  plugins: [preact()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { output: { entryFileNames: 'assets/[name]-[hash].js', assetFileNames: 'assets/[name]-[hash][extname]' } },
  },
  server: { proxy: { '/api': proxy, '/openapi.json': proxy, '/callbacks': proxy } },
  test: { environment: 'happy-dom', css: true, include: ['src/**/*.test.{ts,tsx}'] },
}));
