import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Resolver } from '../../../appliance/dns/dns.ts'
import { createSenders, type Senders } from '../../../appliance/senders/senders.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Domain, Storage } from '../../../appliance/storage/storage.ts'
import { makeTeam, T0, unique } from '../../contract/fixtures.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-sender-races-'))
const clock = { now: () => T0, after: () => () => undefined }
const nobody = {
  resolve: () => Promise.resolve({ kind: 'failed', note: 'no network' }),
} as unknown as Resolver
let storage: Storage
let teamId: string

beforeAll(async () => {
  storage = await openSqlite({ dataDir })
  teamId = (await makeTeam(storage)).team.id
})

afterAll(async () => {
  await storage.close()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Creates the senders, and runs another process's changes while they generate keys. */
function open(meanwhile: () => Promise<unknown> = () => Promise.resolve(), on = storage): Senders {
  const keygen = async () => {
    await meanwhile()
    return { privateKey: new Uint8Array([1]), publicKey: 'AQID' }
  }
  const config = { hostname: 'mail.example', sourceIps: [] }
  return createSenders({ storage: on, resolver: nobody, clock, config, keygen })
}

/** Creates a domain whose verification was requested. */
async function pending(): Promise<Domain> {
  const senders = open()
  const { id } = await senders.addDomain({ teamId, name: `${unique('race')}.example` })
  await senders.requestVerification({ teamId, id })
  await senders.close()
  return senders.getDomain({ teamId, id })
}

/** Stores the watcher's result of a check that found every record. */
const verify = ({ id }: Domain): Promise<boolean> =>
  storage.saveDomainCheck({ teamId, id, status: 'verified', checks: [] }, T0)

test('rotating keys does not undo a concurrent verification', async () => {
  const domain = await pending()
  const senders = open(() => verify(domain))
  await senders.rotateKeys({ teamId, id: domain.id })
  expect(await senders.getDomain({ teamId, id: domain.id })).toMatchObject({
    status: 'verified',
    nextCheckAt: T0,
  })
  await senders.close()
})

test('requesting verification does not undo a concurrent verification', async () => {
  const domain = await pending()
  const isDomainHeld: Storage['isDomainHeld'] = async (args, now) => {
    const held = await storage.isDomainHeld(args, now)
    await verify(domain)
    return held
  }
  const senders = open(undefined, { ...storage, isDomainHeld })
  await senders.requestVerification({ teamId, id: domain.id })
  expect(await senders.getDomain({ teamId, id: domain.id })).toMatchObject({
    status: 'verified',
    nextCheckAt: T0,
  })
  await senders.close()
})

test('only one of two concurrent requests that each disable one capability succeeds', async () => {
  const senders = open()
  const settings = { sending: true, receiving: true }
  const { id } = await senders.addDomain({ teamId, name: `${unique('race')}.example`, settings })
  const answers = await Promise.allSettled([
    senders.updateDomain({ teamId, id, settings: { sending: false } }),
    senders.updateDomain({ teamId, id, settings: { receiving: false } }),
  ])
  expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { key: 'invalid_field', message: expect.stringContaining('at least one capability') as string },
  })
  const { sending, receiving } = await senders.getDomain({ teamId, id })
  expect([sending, receiving].sort()).toEqual([false, true])
  await senders.close()
})

test('two concurrent imports of one list add every address once', async () => {
  const senders = open()
  const csv = 'email\na@x.example\nb@x.example\nc@x.example\n'
  const load = () => senders.importSuppressions({ teamId, csv, origin: 'manual', preview: false })
  const [one, two] = await Promise.all([load(), load()])
  expect([one.added + two.added, one.present + two.present]).toEqual([3, 3])
  expect([...one.first, ...two.first].sort()).toEqual(['a@x.example', 'b@x.example', 'c@x.example'])
  await senders.close()
})
