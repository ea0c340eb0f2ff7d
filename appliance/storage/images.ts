/** Images in emails. */
import type { Selectable } from 'kysely'
import type { ImageInfo, ImageType } from '../mail/image.ts'
import type { Db, ImagesTable } from './schema.ts'

type InfoRow = Pick<Selectable<ImagesTable>, (typeof INFO)[number]>

const INFO = ['id', 'type', 'width', 'height', 'bytes', 'created_at'] as const

const toInfo = (row: InfoRow): ImageInfo => ({
  id: row.id,
  type: row.type,
  width: row.width,
  height: row.height,
  bytes: row.bytes,
  createdAt: row.created_at,
})

/** An image to store. */
export interface NewImage extends Omit<ImageInfo, 'bytes' | 'createdAt'> {
  teamId: string
  body: Uint8Array
  /** Whether the image is used outside of documents. Then it is never removed automatically. */
  used: boolean
}

/**
 * Stores an image. Images with the same bytes are stored once.
 * @param most maximum number of bytes for all images of the team
 * @returns null if the limit would be exceeded
 */
async function putImage(
  db: Db,
  { image, most }: { image: NewImage; most: number },
  now: number,
): Promise<{ image: ImageInfo; created: boolean } | null> {
  const { teamId, id, body, used } = image
  const same = await db
    .selectFrom('images')
    .select(INFO)
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (same) {
    if (used) await useImages(db, { teamId, ids: [id] }, now)
    return { image: toInfo(same), created: false }
  }
  const { held } = await db
    .selectFrom('images')
    .select((row) => row.fn.sum<number | string | null>('bytes').as('held'))
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  if (Number(held ?? 0) + body.length > most) return null
  const { type, width, height } = image
  const info = { id, type, width, height, bytes: body.length, created_at: now }
  await db
    .insertInto('images')
    .values({ ...info, team_id: teamId, body, used_at: used ? now : null })
    .execute()
  return { image: toInfo(info), created: true }
}

/** Lists all images of a team, newest first. Their total size limits their number. */
async function listImages(db: Db, { teamId }: { teamId: string }): Promise<ImageInfo[]> {
  const rows = await db
    .selectFrom('images')
    .select(INFO)
    .where('team_id', '=', teamId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toInfo)
}

/** Reads an image with its bytes, of any team, because readers of an email know only its URL. */
async function readImage(
  db: Db,
  { id }: { id: string },
): Promise<{ type: ImageType; body: Uint8Array } | undefined> {
  return db.selectFrom('images').select(['type', 'body']).where('id', '=', id).limit(1).executeTakeFirst()
}

/** Marks images as used by documents, so that they are kept. */
async function useImages(
  db: Db,
  { teamId, ids }: { teamId: string; ids: string[] },
  now: number,
): Promise<void> {
  if (ids.length === 0) return
  await db
    .updateTable('images')
    .set({ used_at: now })
    .where('team_id', '=', teamId)
    .where('id', 'in', ids)
    .execute()
}

/** Deletes an image. Returns whether it existed. */
async function deleteImage(db: Db, { teamId, id }: { teamId: string; id: string }): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('images')
    .where('team_id', '=', teamId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Removes at most `most` images that were uploaded before `before` and that no document has used. Returns their number. */
async function purgeImages(db: Db, { before, most }: { before: number; most: number }): Promise<number> {
  const unused = await db
    .selectFrom('images')
    .select(['team_id', 'id'])
    .where('used_at', 'is', null)
    .where('created_at', '<', before)
    .limit(most)
    .execute()
  let removed = 0
  for (const { team_id, id } of unused) {
    const { numDeletedRows } = await db
      .deleteFrom('images')
      .where('team_id', '=', team_id)
      .where('id', '=', id)
      .where('used_at', 'is', null)
      .executeTakeFirstOrThrow()
    removed += Number(numDeletedRows)
  }
  return removed
}

export const methods = {
  reads: { listImages, readImage },
  writes: { putImage, useImages, deleteImage, purgeImages },
}
