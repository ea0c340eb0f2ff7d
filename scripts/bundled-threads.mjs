// Loaded before everything else in tests (node --import): threads of the daemon run from the bundle, although tests import
// the sources. Loading the storage's two threads from 150 source files takes 450 ms of processor time, from the bundle 50.
import { registerHooks } from 'node:module'

const threads =
  /\/appliance\/(?:intake|mime|storage\/sqlite)\/(compose-worker|mime-worker|reader|writer)\.ts$/

registerHooks({
  load(url, context, next) {
    const [, name] = threads.exec(url) ?? []
    if (name === undefined) return next(url, context)
    const bundled = new URL(`../.program/${name}.js`, import.meta.url).href
    return { format: 'module', source: `import ${JSON.stringify(bundled)}`, shortCircuit: true }
  },
})
