import { Type, type Static } from 'typebox'
import { IMAGE_TYPES, type ImageInfo, imagePath, MAX_IMAGE } from '../mail/image.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { path, pathText } from './parameters.ts'
import { integer, kind, literals, object, string } from './schemas.ts'
import { Deleted, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const types = Object.keys(IMAGE_TYPES) as (keyof typeof IMAGE_TYPES)[]

/** POST /images. Not part of the hosted API. */
export const Image = object('An image for emails.', {
  object: kind('image'),
  id: string('SHA-256 of the image as it is served, in hex.'),
  url: string('Where emails load the image. The address never changes.'),
  type: literals(types, 'Media type, found by the bytes.'),
  width: integer('Width in pixels.'),
  height: integer('Height in pixels.'),
  bytes: integer('Size in bytes, without metadata.'),
  created_at: Timestamp,
})
export type Image = Static<typeof Image>

export const ImageList = listOf(Image, 'images')

const id = pathText('The id of the image.')
const operation = operationsIn('Images')

export const uploadImage = operation('POST /images', {
  summary: 'Upload an image',
  description:
    `The body is the file itself: PNG, JPEG, GIF or WebP, at most ${MAX_IMAGE.bytes} bytes. Metadata such as the place of a photo is ` +
    'removed. The same image has the same id. Images from the dashboard that no template uses are deleted after 30 days. ' +
    'Not part of the hosted API.',
  response: { 200: Image, 201: Image },
  errors: ['413', '422', '507'],
})
export const listImages = operation('GET /images', {
  summary: 'List images',
  description: 'All images of the team, newest first. Not part of the hosted API.',
  response: { 200: ImageList },
})
export const deleteImage = operation('DELETE /images/:id', {
  summary: 'Delete an image',
  description: 'Emails that were sent with it no longer show it. Not part of the hosted API.',
  params: path({ id }),
  response: {
    200: Type.Object({
      object: kind('image'),
      id: string('The id of the image.'),
      deleted: Deleted,
    }),
  },
})
export const showImage = operation('GET /i/:name', {
  access: 'public',
  summary: 'Get an image',
  description: 'The target of `url`. Requires no key, because readers of emails have none.',
  params: path({ name: pathText('The id of the image, and the ending of its type.') }),
  response: { 200: nonJsonContent('image/*', 'The image.') },
})

export const presentImage = (image: ImageInfo, origin: string): Image => ({
  object: 'image',
  id: image.id,
  url: `${origin}${imagePath(image)}`,
  type: image.type,
  width: image.width,
  height: image.height,
  bytes: image.bytes,
  created_at: timestamp(image.createdAt),
})
