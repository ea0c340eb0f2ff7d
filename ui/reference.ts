import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import type { Plugin } from 'vite'

/** Three quarters of the time of a build would go into the last 10% of the size. */
const QUALITY = 7

/**
 * Puts the script of the API reference beside its page (public/reference/). It comes from the plugin for Fastify: the package
 * of the script alone needs 270 others, 287 MB, only to be installed.
 */
export const reference = (): Plugin => ({
  name: 'reference',
  apply: 'build',
  async writeBundle({ dir }) {
    const app = fastify()
    await app.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
    const { statusCode, rawPayload } = await app.inject('/docs/js/scalar.js')
    await app.close()
    if (statusCode !== 200) throw new Error(`Scalar's script is not where it was: ${statusCode}.`)
    const path = join(dir ?? '', 'reference', 'scalar.js')
    await mkdir(join(path, '..'), { recursive: true })
    await writeFile(path, rawPayload)
    const params = { [constants.BROTLI_PARAM_QUALITY]: QUALITY }
    await writeFile(`${path}.br`, brotliCompressSync(rawPayload, { params }))
  },
})
