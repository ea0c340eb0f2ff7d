import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

/** Where `vite dev` finds a running appliance. */
const appliance = 'http://127.0.0.1:8025'

export default defineConfig({
  base: '/dashboard/',
  plugins: [svelte({ configFile: false })],
  build: {
    target: 'es2022',
    // The content security policy allows no data: URL but for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: Object.fromEntries(
      ['/session', '/emails', '/domains', '/api-keys', '/suppressions', '/logs', '/usage', '/sandbox'].map(
        (path) => [path, appliance],
      ),
    ),
  },
})
