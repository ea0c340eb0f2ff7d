/**
 * Wraps storage so that secrets are sealed when written and opened when read. This is transparent to both the callers
 * and the storage itself.
 */
import { LRUCache } from 'lru-cache'
import { secretLocations, type DkimKey, type Storage, type Webhook } from '../storage/storage.ts'
import type { Sealer } from './seal.ts'

/**
 * Maximum number of opened values to cache. Opening a value takes about 30 microseconds, and busy webhooks and domains
 * need theirs constantly.
 */
const CACHED = 2000

type WithSecret = Pick<Webhook, 'secret' | 'oldSecret'>

/** Creates the functions that seal and open each kind of record. */
function createForms(sealer: Sealer) {
  const sealBytes = (value: Uint8Array, place: string): Uint8Array =>
    new Uint8Array(Buffer.from(sealer.seal(value, place)))
  const opened = new LRUCache<string, { value: Buffer; place: string }>({ max: CACHED })
  const open = (text: string, place: string): Buffer => {
    const known = opened.get(text)
    if (known?.place === place) return known.value
    const value = sealer.open(text, place)
    opened.set(text, { value, place })
    return value
  }
  const openBytes = (value: Uint8Array, place: string): Uint8Array =>
    new Uint8Array(open(Buffer.from(value).toString('latin1'), place))
  const openText = (text: string, place: string): string => open(text, place).toString()

  const ofKey = (key: DkimKey, change: typeof sealBytes): DkimKey =>
    // The private key of a retired DKIM key is empty, because it has been erased.
    key.privateKey.length === 0
      ? key
      : { ...key, privateKey: change(key.privateKey, secretLocations.dkimKey(key.id)) }
  const ofWebhook = <T extends WithSecret>(one: T, id: string, change: typeof openText): T => {
    const place = secretLocations.webhook(id)
    const { secret, oldSecret } = one
    return {
      ...one,
      secret: change(secret, place),
      oldSecret: oldSecret && { ...oldSecret, secret: change(oldSecret.secret, place) },
    }
  }
  const sealText = (text: string, place: string): string => sealer.seal(Buffer.from(text), place)
  return {
    sealBytes,
    openBytes,
    sealText,
    sealKey: (key: DkimKey) => ofKey(key, sealBytes),
    openKey: (key: DkimKey) => ofKey(key, openBytes),
    sealWebhook: (webhook: Webhook) => ofWebhook(webhook, webhook.id, sealText),
    openWebhook: <T extends WithSecret>(webhook: T, id: string) => ofWebhook(webhook, id, openText),
  }
}

type Forms = ReturnType<typeof createForms>

/** Wraps a storage so that every secret in it is sealed. */
export function sealStorage<S extends Storage>(storage: S, sealer: Sealer): S {
  const forms = createForms(sealer)
  return {
    ...storage,
    ...senders(storage, forms),
    ...webhooks(storage, forms),
    ...factors(storage, forms),
    ...named(storage, forms),
  }
}

function senders(
  storage: Storage,
  { sealKey, openKey }: Forms,
): Pick<Storage, 'createDomain' | 'addDkimKeys' | 'dkimKeys' | 'signingKeys'> {
  return {
    createDomain: (args, now) => storage.createDomain({ ...args, keys: args.keys.map(sealKey) }, now),
    addDkimKeys: (args, now) => storage.addDkimKeys({ ...args, keys: args.keys.map(sealKey) }, now),
    dkimKeys: async (args, now) => (await storage.dkimKeys(args, now)).map(openKey),
    signingKeys: async (args, now) => (await storage.signingKeys(args, now)).map(openKey),
  }
}

function webhooks(
  storage: Storage,
  { sealText, sealWebhook, openWebhook }: Forms,
): Pick<
  Storage,
  | 'createWebhook'
  | 'listWebhooks'
  | 'getWebhook'
  | 'updateWebhook'
  | 'rotateWebhookSecret'
  | 'leaseWebhookDeliveries'
> {
  const found = (webhook: Webhook | undefined) => webhook && openWebhook(webhook, webhook.id)
  return {
    createWebhook: (args, now) => storage.createWebhook({ ...args, webhook: sealWebhook(args.webhook) }, now),
    listWebhooks: async (args, now) =>
      (await storage.listWebhooks(args, now)).map((one) => openWebhook(one, one.id)),
    getWebhook: async (args, now) => found(await storage.getWebhook(args, now)),
    updateWebhook: async (args, now) => found(await storage.updateWebhook(args, now)),
    rotateWebhookSecret: async (args, now) => {
      const secret = sealText(args.secret, secretLocations.webhook(args.id))
      return found(await storage.rotateWebhookSecret({ ...args, secret }, now))
    },
    leaseWebhookDeliveries: async (args, now) =>
      (await storage.leaseWebhookDeliveries(args, now)).map((one) => openWebhook(one, one.webhookId)),
  }
}

function factors(storage: Storage, { sealBytes, openBytes }: Forms): Pick<Storage, 'startTotp' | 'findTotp'> {
  return {
    startTotp: (args, now) =>
      storage.startTotp({ ...args, secret: sealBytes(args.secret, secretLocations.totp(args.userId)) }, now),
    findTotp: async (args, now) => {
      const found = await storage.findTotp(args, now)
      return found && { ...found, secret: openBytes(found.secret, secretLocations.totp(found.userId)) }
    },
  }
}

function named(
  storage: Storage,
  { sealBytes, openBytes }: Forms,
): Pick<Storage, 'secret' | 'findSecret' | 'listSecrets' | 'replaceSecret'> {
  return {
    findSecret: async ({ name }, now) => {
      const found = await storage.findSecret({ name }, now)
      return found && openBytes(found, secretLocations.named(name))
    },
    listSecrets: async (args, now) =>
      (await storage.listSecrets(args, now)).map(({ name, value }) => ({
        name,
        value: openBytes(value, secretLocations.named(name)),
      })),
    replaceSecret: ({ name, value }, now) =>
      storage.replaceSecret({ name, value: sealBytes(value, secretLocations.named(name)) }, now),
    secret: async ({ name, fresh }, now) => {
      const place = secretLocations.named(name)
      return openBytes(await storage.secret({ name, fresh: sealBytes(fresh, place) }, now), place)
    },
  }
}
