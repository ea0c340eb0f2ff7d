/** API calls for images in emails. */
import type { Image } from '../../../appliance/api/images.ts'
import { request } from './client.ts'

/** Uploads an image. Uploading the same image again returns the existing one. */
export async function uploadImage(file: Blob): Promise<Image> {
  return (await (await request('/images', { method: 'POST', body: file })).json()) as Image
}

/**
 * Loads an image of this server as a `data:` URL.
 * @param path path of the form `/i/…`
 */
export async function loadImage(path: string): Promise<string> {
  const blob = await (await request(path)).blob()
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.onload = () => resolve(reader.result as string)
  reader.onerror = () => reject(new Error('Couldn’t read the image.'))
  reader.readAsDataURL(blob)
  return promise
}
