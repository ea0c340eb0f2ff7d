// Loaded first in processes that run tests (node --import). Redirects imports of the appliance's sources to the bundle
// that scripts/bundle-sources.ts created, and hashes passwords cheaply. Programs and threads aren't in the bundle, and are
// left to the other hooks.
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'

const sources = new URL('../appliance/', import.meta.url).href
const bundled = new URL('../.runtime/bundled/', import.meta.url).href

const argon2 = new URL('cheap-argon2.mjs', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== '@node-rs/argon2' || !context.parentURL?.startsWith(bundled))
      return next(specifier, context)
    return { url: argon2, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(sources) || !url.endsWith('.ts')) return next(url, context)
    const copy = bundled + url.slice(sources.length).replace(/ts$/, 'js')
    if (!existsSync(new URL(copy))) return next(url, context)
    return { format: 'module', source: `export * from ${JSON.stringify(copy)}`, shortCircuit: true }
  },
})
