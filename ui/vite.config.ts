import { svelte } from '@sveltejs/vite-plugin-svelte'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { icons } from './icons.ts'
import { reference } from './reference.ts'

/** Where `vite dev` finds a running appliance. */
const appliance = 'http://127.0.0.1:8025'

/** What three pages or more have in common is one file: each page would ask for dozens of small ones. */
const SHARED = { name: 'shared', test: /\/ui\/src\/|\/@lucide\/|\/svelte\//, minShareCount: 3 }

/** Under this a compressed file saves no packet. */
const WORTH_IT = 1024

/** Puts compressed copies beside scripts and style sheets: the appliance sends them as they are. Their names carry hashes, so no copy is ever stale. */
const compressed = (): Plugin => ({
  name: 'compressed',
  apply: 'build',
  async writeBundle({ dir }, bundle) {
    const names = Object.keys(bundle).filter((name) => /^assets\/.*\.(js|css|svg)$/.test(name))
    for (const name of names) {
      const path = join(dir ?? '', name)
      const bytes = await readFile(path)
      if (bytes.length < WORTH_IT) continue
      await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }))
      await writeFile(`${path}.br`, brotliCompressSync(bytes))
    }
  },
})

export default defineConfig({
  base: '/dashboard/',
  plugins: [icons(), svelte({ configFile: false }), compressed(), reference()],
  build: {
    target: 'es2022',
    // The content security policy allows no data: URL but for images.
    assetsInlineLimit: 0,
    // A style sheet that comes with a page has the browser look at every element again; all of them are 13 kB compressed.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    // How long each plugin took is nothing for whoever starts the appliance.
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: { codeSplitting: { groups: [SHARED] } },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/session', '/emails', '/domains', '/api-keys', '/suppressions', '/logs', '/usage', '/sandbox'].map(
        (path) => [path, appliance],
      ),
    ),
  },
})
