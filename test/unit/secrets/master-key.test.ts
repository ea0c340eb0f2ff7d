import Database from 'better-sqlite3'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  wipeOldValues,
  MasterKeyError,
  rekey,
  sealStorage,
  openSealer,
  type KeyLocations,
} from '../../../appliance/secrets/secrets.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { openSqlite, sqliteSealing } from '../../../appliance/storage/sqlite/sqlite.ts'
import { T0 } from '../../contract/fixtures.ts'
import { makePlace } from '../storage/places.ts'
import { filesWith, readStock, stockOf, store, type Stock } from './stock.ts'

const placesOf = (dataDir: string, more: Partial<KeyLocations> = {}): KeyLocations => ({
  dataDir,
  keyFile: undefined,
  env: {},
  ...more,
})
const newDataDir = async (): Promise<string> => join(await makePlace(), 'data')

/** Runs something on the sealed storage of a data directory. */
async function on<T>(places: KeyLocations, work: (storage: Storage) => Promise<T>): Promise<T> {
  const engine = await openSqlite({ dataDir: places.dataDir })
  try {
    return await work(sealStorage(engine, openSealer(places, sqliteSealing, T0)))
  } finally {
    await engine.close()
  }
}

const keyId = (dataDir: string): string => sqliteSealing.readSealing(dataDir)!.keyId
const plainCount = (dataDir: string): number =>
  sqliteSealing.countSecrets(dataDir).reduce((sum, { plain }) => sum + plain, 0)

async function sealedStock(): Promise<{ dataDir: string; stock: Stock }> {
  const dataDir = await newDataDir()
  return { dataDir, stock: await on(placesOf(dataDir), store) }
}

describe('a new data directory', () => {
  test('a new data directory gets its own master key, readable only by its owner, and no file has a plain secret', async () => {
    const { dataDir, stock } = await sealedStock()
    expect(statSync(join(dataDir, 'master.key')).mode & 0o777).toBe(0o600)
    expect(Buffer.from(readFileSync(join(dataDir, 'master.key'), 'utf8'), 'base64')).toHaveLength(32)
    expect(filesWith(dataDir, stock.secrets)).toEqual([])
    expect(sqliteSealing.countSecrets(dataDir)).toEqual([
      { kind: 'dkim_keys.private_key', sealed: 1, plain: 0 },
      { kind: 'webhooks.secret', sealed: 1, plain: 0 },
      { kind: 'webhooks.old_secret', sealed: 1, plain: 0 },
      { kind: 'totp_factors.secret', sealed: 1, plain: 0 },
      { kind: 'secrets.value', sealed: 1, plain: 0 },
    ])
    expect(await on(placesOf(dataDir), (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
    expect(readdirSync(dataDir).filter((name) => name.includes('.partial-'))).toEqual([])
  })

  test('a new data directory opened by several processes at once gets one master key', async () => {
    const dataDir = await newDataDir()
    const engines = await Promise.all([openSqlite({ dataDir }), openSqlite({ dataDir })])
    const ids = engines.map(() => openSealer(placesOf(dataDir), sqliteSealing, T0).keyId)
    expect(new Set(ids)).toEqual(new Set([keyId(dataDir)]))
    await Promise.all(engines.map((engine) => engine.close()))
  })
})

describe('an unencrypted database', () => {
  /**
   * Creates a data directory with a secret of each kind, some of them replaced and removed, and with the newest pages
   * in the write-ahead log.
   */
  async function plainStock(): Promise<{ dataDir: string; stock: Stock; gone: Buffer[] }> {
    const dataDir = await newDataDir()
    const engine = await openSqlite({ dataDir })
    const removed = await store(engine)
    const stock = await store(engine)
    await engine.deleteWebhook({ teamId: removed.webhook.teamId, id: removed.webhook.id }, T0)
    const { teamId, domainId } = removed.key
    await engine.deleteDomain({ teamId, id: domainId }, T0)
    await engine.close()
    return { dataDir, stock, gone: removed.secrets.slice(0, 3) }
  }

  test('an unencrypted database is encrypted when first opened, and its plain secrets are erased from the files', async () => {
    const { dataDir, stock, gone } = await plainStock()
    expect(filesWith(dataDir, stock.secrets)).toContain('posthaste.db')
    const engine = await openSqlite({ dataDir })
    const sealer = openSealer(placesOf(dataDir), sqliteSealing, T0)
    expect(sqliteSealing.readSealing(dataDir)).toMatchObject({ keyId: sealer.keyId, cleanedAt: null })
    expect(plainCount(dataDir)).toBe(0)
    expect(filesWith(dataDir, stock.secrets)).toEqual([])
    expect(wipeOldValues(dataDir, sqliteSealing, T0 + 1)).toBe(true)
    expect(filesWith(dataDir, [...stock.secrets, ...gone])).toEqual([])
    expect(sqliteSealing.readSealing(dataDir)).toMatchObject({ cleanedAt: T0 + 1 })
    expect(await readStock(sealStorage(engine, sealer), stock)).toEqual(stockOf(stock))
    await engine.close()
    expect(filesWith(dataDir, [...stock.secrets, ...gone])).toEqual([])
  })

  test('an unencrypted database stays unchanged if encryption is interrupted, and is encrypted the next time', async () => {
    const { dataDir, stock } = await plainStock()
    await (await openSqlite({ dataDir })).close()
    const plain = plainCount(dataDir)
    let rows = 0
    const rewrite = (value: Uint8Array): Uint8Array => {
      if (++rows === 3) throw new Error('the power went')
      return value
    }
    const half = { dataDir, from: null, to: '0123456789abcdef', rewrite }
    expect(() => sqliteSealing.reseal(half, T0)).toThrow()
    expect(plainCount(dataDir)).toBe(plain)
    expect(sqliteSealing.readSealing(dataDir)).toBeUndefined()
    expect(await on(placesOf(dataDir), (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
  })

  test('the database rejects plain secrets after encryption', async () => {
    const { dataDir } = await sealedStock()
    const engine = await openSqlite({ dataDir })
    await expect(store(engine)).rejects.toThrow('not sealed with the present master key')
    await engine.close()
  })
})

describe('the master key', () => {
  test('reads the master key from the configured file, variable, credential or data directory, in this order', async () => {
    const { dataDir, stock } = await sealedStock()
    const folder = await makePlace()
    const own = join(dataDir, 'master.key')
    const elsewhere = join(folder, 'posthaste-master-key')
    renameSync(own, elsewhere)
    const text = readFileSync(elsewhere, 'utf8')
    const wrong = randomBytes(32).toString('base64')
    const reads = (more: Partial<KeyLocations>) =>
      on(placesOf(dataDir, more), (storage) => readStock(storage, stock))
    const credential = { CREDENTIALS_DIRECTORY: folder }
    for (const more of [
      { keyFile: elsewhere, env: { POSTHASTE_MASTER_KEY: wrong } },
      { env: { POSTHASTE_MASTER_KEY: text.trim(), CREDENTIALS_DIRECTORY: folder } },
      { env: credential },
    ])
      expect(await reads(more)).toEqual(stockOf(stock))
    expect(existsSync(own)).toBe(false)
    writeFileSync(own, text, { mode: 0o644 })
    expect(await reads({})).toEqual(stockOf(stock))
    expect(statSync(own).mode & 0o777).toBe(0o600)
  })

  const refusal = async (places: KeyLocations): Promise<string> => {
    const engine = await openSqlite({ dataDir: places.dataDir })
    try {
      openSealer(places, sqliteSealing, T0)
      return 'nothing was refused'
    } catch (error) {
      expect(error).toBeInstanceOf(MasterKeyError)
      return (error as Error).message
    } finally {
      await engine.close()
    }
  }

  test('rejects a missing or wrong master key, with its source and what to do', async () => {
    const { dataDir, stock } = await sealedStock()
    const id = keyId(dataDir)
    const own = join(dataDir, 'master.key')
    const text = readFileSync(own, 'utf8')
    rmSync(own)
    const missing = await refusal(placesOf(dataDir))
    expect(missing).toContain(`encrypted with the master key ${id}, but ${own} does not exist`)
    expect(missing).toContain('Put the right key there')
    // No new key is created if anything is encrypted with another one.
    expect(existsSync(own)).toBe(false)
    const wrong = randomBytes(32).toString('base64')
    writeFileSync(own, wrong, { mode: 0o600 })
    expect(await refusal(placesOf(dataDir))).toMatch(/contains another key, [0-9a-f]{16}\./)
    const env = { POSTHASTE_MASTER_KEY: wrong }
    expect(await refusal(placesOf(dataDir, { env }))).toContain(
      'the environment variable POSTHASTE_MASTER_KEY',
    )
    expect(await refusal(placesOf(dataDir, { env }))).not.toContain(wrong)
    writeFileSync(own, text, { mode: 0o600 })
    expect(await on(placesOf(dataDir), (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
  })

  test('rejects a malformed, world-readable or missing master key file', async () => {
    const dataDir = await newDataDir()
    const file = join(await makePlace(), 'key')
    const places = placesOf(dataDir, { keyFile: file })
    expect(await refusal(places)).toContain(`${file} (secrets.master_key_file): file not found`)
    for (const text of [
      '',
      'secret',
      randomBytes(31).toString('base64'),
      `${randomBytes(32).toString('hex')}`,
    ]) {
      writeFileSync(file, text, { mode: 0o600 })
      expect(await refusal(places)).toContain('expected 32 bytes in base64')
    }
    writeFileSync(file, `${randomBytes(32).toString('base64')}\n`)
    chmodSync(file, 0o644)
    expect(await refusal(places)).toContain(`Run: chmod 600 ${file}`)
    chmodSync(file, 0o640)
    expect(await refusal(places)).toBe('nothing was refused')
    expect(existsSync(join(dataDir, 'master.key'))).toBe(false)
  })
})

test('a sealed value that was copied to another row cannot be decrypted', async () => {
  const { dataDir, stock } = await sealedStock()
  const other = await on(placesOf(dataDir), store)
  const db = new Database(join(dataDir, 'posthaste.db'))
  const take = db.prepare(
    'update webhooks set secret = (select secret from webhooks where id = ?) where id = ?',
  )
  take.run(other.webhook.id, stock.webhook.id)
  db.close()
  await expect(on(placesOf(dataDir), (storage) => readStock(storage, stock))).rejects.toThrow(
    `The secret in webhooks.secret:${stock.webhook.id} cannot be decrypted: it was changed or moved`,
  )
  expect(await on(placesOf(dataDir), (storage) => readStock(storage, other))).toEqual(stockOf(other))
})

describe('a master key rotation', () => {
  const options = (dataDir: string, more: object = {}) => ({
    ...placesOf(dataDir),
    newKeyFile: undefined,
    ...more,
  })

  test('a rotation re-encrypts everything, and leaves no usable old key or ciphertexts', async () => {
    const { dataDir, stock } = await sealedStock()
    const own = join(dataDir, 'master.key')
    const old = readFileSync(own, 'utf8')
    const from = keyId(dataDir)
    const done = rekey(options(dataDir), sqliteSealing, T0)
    expect(done).toMatchObject({ from, to: keyId(dataDir), source: own, handOver: false, cleaned: true })
    expect(done.to).not.toBe(from)
    expect(readFileSync(own, 'utf8')).not.toBe(old)
    expect(statSync(own).mode & 0o777).toBe(0o600)
    expect(existsSync(`${own}.new`)).toBe(false)
    expect(filesWith(dataDir, [...stock.secrets, Buffer.from(`sealed:1:${from}`)])).toEqual([])
    expect(await on(placesOf(dataDir), (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
    writeFileSync(own, old)
    await expect(on(placesOf(dataDir), (storage) => readStock(storage, stock))).rejects.toThrow(
      MasterKeyError,
    )
  })

  test.each(['before', 'during', 'after'])(
    'a rotation killed %s re-encryption leaves a usable database',
    async (where) => {
      const { dataDir, stock } = await sealedStock()
      const from = keyId(dataDir)
      const own = join(dataDir, 'master.key')
      const child = spawn(process.execPath, [join(import.meta.dirname, 'rekey-child.ts'), dataDir, where], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      expect((await once(child, 'exit'))[1]).toBe('SIGKILL')
      expect(existsSync(`${own}.new`)).toBe(true)
      expect(keyId(dataDir) === from).toBe(where !== 'after')
      expect(await on(placesOf(dataDir), (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
      expect(existsSync(`${own}.new`)).toBe(where !== 'after')
      const again = rekey(options(dataDir), sqliteSealing, T0)
      expect(again.to).not.toBe(from)
      expect(existsSync(`${own}.new`)).toBe(false)
      expect(await on(placesOf(dataDir), (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
    },
  )

  test('a rotation stops older processes from writing with the old key', async () => {
    const { dataDir } = await sealedStock()
    const engine = await openSqlite({ dataDir })
    const before = sealStorage(engine, openSealer(placesOf(dataDir), sqliteSealing, T0))
    rekey(options(dataDir), sqliteSealing, T0)
    await expect(store(before)).rejects.toThrow('not sealed with the present master key')
    await engine.close()
  })

  test('a rotation reads the new key from a file, and requires one if it cannot change the source', async () => {
    const { dataDir, stock } = await sealedStock()
    const own = join(dataDir, 'master.key')
    const env = { POSTHASTE_MASTER_KEY: readFileSync(own, 'utf8').trim() }
    rmSync(own)
    const newKeyFile = join(await makePlace(), 'next')
    mkdirSync(join(newKeyFile, '..'), { recursive: true })
    const next = randomBytes(32).toString('base64')
    writeFileSync(newKeyFile, next, { mode: 0o600 })
    expect(() => rekey(options(dataDir, { env }), sqliteSealing, T0)).toThrow(
      'pass the file with --new-key-file',
    )
    const done = rekey(options(dataDir, { env, newKeyFile }), sqliteSealing, T0)
    expect(done).toMatchObject({ to: keyId(dataDir), handOver: true })
    expect(existsSync(own)).toBe(false)
    const places = placesOf(dataDir, { env: { POSTHASTE_MASTER_KEY: next } })
    expect(await on(places, (storage) => readStock(storage, stock))).toEqual(stockOf(stock))
    expect(() => rekey(options(dataDir, { env: places.env, newKeyFile }), sqliteSealing, T0)).toThrow(
      'contains the current key',
    )
  })
})
