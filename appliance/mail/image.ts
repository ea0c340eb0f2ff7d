/** Image types, limits and paths. Pure; also used by the dashboard. */

/** Image types that all mail clients show, with their filename extensions. Excludes SVG, which can contain scripts. */
export const IMAGE_TYPES = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
} as const
export type ImageType = keyof typeof IMAGE_TYPES

/** Limits: octets of an image, pixels of its longest side and in total, and octets of all images of a team. */
export const MAX_IMAGE = {
  bytes: 2 * 1024 * 1024,
  side: 6000,
  pixels: 25_000_000,
  teamBytes: 256 * 1024 * 1024,
}

/** Metadata of an image. */
export interface ImageInfo {
  /** SHA-256 of its octets, in hex. */
  id: string
  type: ImageType
  /** Pixels. */
  width: number
  height: number
  bytes: number
  createdAt: number
}

/** Returns the path under which an image is served. */
export const imagePath = ({ id, type }: Pick<ImageInfo, 'id' | 'type'>): string =>
  `/i/${id}.${IMAGE_TYPES[type]}`

const PATH = /\/i\/([0-9a-f]{64})\.(?:png|jpg|gif|webp)(?![\w.-])/g

/** Finds the ids of images that a text refers to: a document as JSON, or HTML. */
export const findImageIds = (text: string): string[] => [
  ...new Set([...text.matchAll(PATH)].map(([, id]) => id!)),
]
