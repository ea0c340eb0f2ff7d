/** Routes for images in emails: uploads, and the URLs that mail clients load. */
import { createHash } from 'node:crypto'
import * as api from '../../api/images.ts'
import { presentDeleted, presentList } from '../../api/shared.ts'
import { cleanImage } from '../../images/images.ts'
import { IMAGE_TYPES, MAX_IMAGE } from '../../mail/image.ts'
import { refuse } from '../../mail/refusals.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'

const YEAR = 365 * 24 * 3600

/** The name is a hash of the content, so the content never changes. It is only ever shown as an image. */
const HEADERS = {
  'cache-control': `public, max-age=${YEAR}, immutable`,
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

/**
 * Routes for images: uploads and downloads.
 * @param origin of the URLs in emails, without a trailing slash
 */
export function imageRoutes(
  app: App,
  { storage, clock }: HttpDeps,
  { origin }: { origin: () => string },
): void {
  serve(
    app,
    api.uploadImage,
    {
      form: true,
      bodyLimit: MAX_IMAGE.bytes,
      audit: { action: 'image.upload', personal: true },
    },
    async (request, reply) => {
      const body: unknown = request.body
      const clean = cleanImage(body instanceof Uint8Array ? Buffer.from(body) : Buffer.alloc(0))
      const id = createHash('sha256').update(clean.body).digest('hex')
      const { teamId } = getCaller(request)
      // An upload with a key is used in HTML that this server never sees as a document, so it counts as used from the
      // start.
      const image = { ...clean, id, teamId, used: getCaller(request).userId === undefined }
      const stored = await storage.putImage({ image, most: MAX_IMAGE.teamBytes }, clock.now())
      if (!stored) throw refuse('images_full', { limit: MAX_IMAGE.teamBytes / 1024 / 1024 })
      return reply.code(stored.created ? 201 : 200).send(api.presentImage(stored.image, origin()))
    },
  )
  serve(app, api.listImages, {}, async (request) => {
    const images = await storage.listImages({ teamId: getCaller(request).teamId }, clock.now())
    return presentList(images.map((image) => api.presentImage(image, origin())))
  })
  serve(app, api.deleteImage, { audit: 'image.delete' }, async (request) => {
    const { id } = request.params
    const deleted = await storage.deleteImage({ teamId: getCaller(request).teamId, id }, clock.now())
    if (!deleted) throw refuse('not_found', { resource: 'Image' })
    return presentDeleted('image', id)
  })
  // Not counted by address, because providers load images for many people from few addresses.
  serve(app, api.showImage, { unmetered: true, logLevel: 'warn' }, async (request, reply) => {
    const [, id, ending] = /^([0-9a-f]{64})\.([a-z]{3,4})$/.exec(request.params.name) ?? []
    const image = id === undefined ? undefined : await storage.readImage({ id }, clock.now())
    if (!image || IMAGE_TYPES[image.type] !== ending) throw refuse('not_found', { resource: 'Image' })
    const { body } = image
    return reply
      .headers({ ...HEADERS, 'content-type': image.type })
      .send(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  })
}
