import { randomBytes } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DkimKey, Storage, Webhook } from '../../../appliance/storage/storage.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { makeTeam, newDomain, T0, unique } from '../../contract/fixtures.ts'

/** One stored secret of each kind, and where to find it again. */
export interface Stock {
  key: DkimKey
  webhook: Webhook
  totp: { userId: string; secret: Uint8Array }
  links: Uint8Array
  /** The secrets' bytes as they would appear in a file. */
  secrets: Buffer[]
}

/** Stores a secret of each kind. */
export async function store(storage: Storage): Promise<Stock> {
  const { team, user } = await makeTeam(storage)
  const { domain, keys } = newDomain(team.id, `${unique('stock')}.example`)
  const key = { ...keys[0], privateKey: new Uint8Array(randomBytes(1200)) }
  await storage.createDomain({ domain, keys: [key] }, T0)
  const made: Webhook = {
    id: newId(T0),
    teamId: team.id,
    endpoint: 'https://a.example/',
    events: ['email.sent'],
    status: 'enabled',
    secret: `whsec_${randomBytes(24).toString('base64')}`,
    oldSecret: null,
    createdAt: T0,
    succeededAt: null,
    failingSince: null,
    disabled: null,
    broadcasts: true,
  }
  await storage.createWebhook({ webhook: made, most: 2 }, T0)
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const rotation = { teamId: team.id, id: made.id, secret, oldUntil: T0 + 1 }
  const webhook = (await storage.rotateWebhookSecret(rotation, T0))!
  const totp = { userId: user.id, secret: new Uint8Array(randomBytes(20)) }
  await storage.startTotp(totp, T0)
  const links = await storage.secret({ name: 'links', fresh: new Uint8Array(randomBytes(32)) }, T0)
  const secrets = [key.privateKey, Buffer.from(made.secret), Buffer.from(secret), totp.secret, links]
  return { key, webhook, totp, links, secrets: secrets.map((one) => Buffer.from(one)) }
}

/** Reads the same secrets from a storage. */
export async function readStock(storage: Storage, { key, webhook, totp }: Stock) {
  const { teamId, id } = webhook
  return {
    key: (await storage.signingKeys({ domainId: key.domainId }, T0))[0],
    webhook: await storage.getWebhook({ teamId, id }, T0),
    totp: (await storage.findTotp({ userId: totp.userId }, T0))?.secret,
    links: await storage.secret({ name: 'links', fresh: new Uint8Array(randomBytes(32)) }, T0),
  }
}

/** Returns what `readStock` must return. */
export const stockOf = ({ key, webhook, totp, links }: Stock) => ({
  key,
  webhook,
  links,
  totp: totp.secret,
})

/** Returns the files below a folder that contain any of the secrets. */
export function filesWith(folder: string, secrets: Buffer[]): string[] {
  return globSync('**/*', { cwd: folder }).filter((name) => {
    const path = join(folder, name)
    if (!statSync(path).isFile()) return false
    const bytes = readFileSync(path)
    return secrets.some((secret) => bytes.includes(secret))
  })
}
