import Database from 'better-sqlite3'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import {
  createBackupArchive,
  listSnapshots,
  openSqlite,
  restore,
  type SqliteStorage,
} from '../../../appliance/storage/sqlite/sqlite.ts'
import { tarEnd, tarHeader, tarPadding } from '../../../appliance/storage/backup/archive.ts'
import {
  applyMigrations,
  findMissingMigrations,
  shippedMigrations,
  createSnapshot,
} from '../../../appliance/storage/sqlite/migrate.ts'
import { newAutomation } from '../../contract/automations.contract.ts'
import { change, DAY, leaseArgs, makeTeam, MINUTE, putEmail, T0 } from '../../contract/fixtures.ts'
import { makeReceiver, newReceived } from '../../contract/received-emails.contract.ts'
import { kill, makePlace, runChild } from './places.ts'

const LARGE = 300 * 1024
const by = { kind: 'command', name: 'root', ip: null } as const

async function place(): Promise<{ dataDir: string; file: string; target: string; folder: string }> {
  const folder = await makePlace()
  return { folder, dataDir: join(folder, 'data'), file: join(folder, 'backup'), target: join(folder, 'new') }
}

const options = (dataDir: string, file: string) => ({
  dataDir,
  file,
  bodies: true,
  verify: true,
  version: '0.1.0',
  configuration: [{ name: 'config/posthaste.toml' as const, bytes: Buffer.from('hostname = "x.test"\n') }],
})

/** Creates a storage with one finished email, one queued email, and one queued email whose message is in a file. */
async function filled(dataDir: string) {
  const storage = await openSqlite({ dataDir })
  const { team } = await makeTeam(storage)
  const done = await putEmail(storage, team.id, ['done@x.example'])
  await storage.lease(leaseArgs(), T0)
  const changes = [change(done.deliveries[0]!.id, 'delivered', 'email.delivered')]
  await storage.settle({ owner: 'one', attempt: null, changes }, T0)
  const waits = await putEmail(storage, team.id, ['waits@x.example'])
  const large = await putEmail(storage, team.id, ['large@x.example'], T0, { message: Buffer.alloc(LARGE, 7) })
  return { storage, team, done, waits, large }
}

const dueAfter = (storage: SqliteStorage) => storage.lease(leaseArgs({ owner: 'two' }), T0 + DAY)

describe('a backup', () => {
  test('a backup includes returned messages and large received email, unless made without bodies', async () => {
    const { dataDir, file, target, folder } = await place()
    const { storage, team, done } = await filled(dataDir)
    const bytes = new Uint8Array(Buffer.from('No such user.'))
    const message = {
      id: newId(T0),
      receivedAt: T0,
      mailFrom: '',
      rcptTo: done.returnPath,
      ip: '192.0.2.1',
      helo: 'mx.x.example',
      tls: null,
      size: bytes.length,
      bytes,
    }
    const limits = { emailMessages: 10, emailBytes: 1e6, teamBytes: 1e6, allBytes: 1e6 }
    await storage.keepReturned({ emailId: done.id, message, limits }, T0)
    const receiver = await makeReceiver(storage)
    const received = { ...newReceived(receiver, { size: LARGE }), bytes: Buffer.alloc(LARGE, 9) }
    const most = { messages: 1, bytes: LARGE }
    await storage.keepReceivedEmails({ emails: [received], limits: most }, T0)
    await createBackupArchive(options(dataDir, file), T0)
    await createBackupArchive({ ...options(dataDir, `${file}-2`), bodies: false }, T0)
    await storage.close()
    const list = async (from: string, to: string) => {
      await restore({ file: from, dataDir: to, by }, T0)
      const restored = await openSqlite({ dataDir: to })
      const messages = await restored.listReturned({ teamId: team.id, emailId: done.id }, T0)
      const source = await restored.getReceivedSource({ teamId: receiver.teamId, id: received.id }, T0)
      await restored.close()
      return [messages.map(({ id }) => id), source && Buffer.from(source).equals(received.bytes)]
    }
    expect(await list(file, target)).toEqual([[message.id], true])
    expect(await list(`${file}-2`, join(folder, 'second'))).toEqual([[], undefined])
  })

  test('a backup of a running server is complete, and restores queued mail on hold', async () => {
    const { dataDir, file, target, folder } = await place()
    const { storage, team, done, waits, large } = await filled(dataDir)
    await mkdir(join(dataDir, 'tls'))
    await writeFile(join(dataDir, 'tls', 'self-signed.json'), '{}')
    const automation = newAutomation(team.id, 'user.created')
    await storage.createAutomation({ automation, most: 9 }, T0)
    const { about, verified, size } = await createBackupArchive(options(dataDir, file), T0)
    expect(about).toMatchObject({ version: '0.1.0', createdAt: T0, bodies: true })
    expect(about.counts).toMatchObject({ emails: 3, waiting: 2, messages: 3 })
    expect(verified).toBe(true)
    expect(await stat(file)).toMatchObject({ size, mode: 0o100600 })
    expect((await readdir(folder)).sort()).toEqual(['backup', 'data'])
    await storage.close()

    expect(await restore({ by, file, dataDir: target }, T0 + MINUTE)).toMatchObject({
      held: 2,
      reports: 0,
      about,
    })
    expect((await readdir(target)).sort()).toEqual([
      'daemon.lock',
      'daemon.pid',
      'messages',
      'posthaste.db',
      'restored-config',
      'tls',
    ])
    expect(await readFile(join(target, 'restored-config', 'posthaste.toml'), 'utf8')).toBe(
      'hostname = "x.test"\n',
    )
    const restored = await openSqlite({ dataDir: target })
    expect(await dueAfter(restored)).toEqual([])
    const ref = { teamId: team.id, id: automation.id }
    expect(await restored.getAutomation(ref, T0)).toMatchObject({
      status: 'disabled',
      stopReason: expect.stringContaining('restored from a backup') as string,
    })
    expect(Buffer.from((await restored.getMessage({ emailId: large.id }, T0))!)).toEqual(large.message)
    expect(Buffer.from((await restored.getMessage({ emailId: done.id }, T0))!)).toEqual(done.message)
    expect(await restored.listAudit({ limit: 10 }, T0)).toMatchObject({
      items: [
        {
          action: 'backup.restore',
          actor: 'root',
          actorKind: 'command',
          teamId: null,
          target: 'backup',
          after: { held: 2, reports_given_up: 0 },
          details: { command: 'restore', arguments: [file], backup_made_at: new Date(T0).toISOString() },
        },
        { action: 'queue.hold', actor: 'restore', after: { count: 2 } },
      ],
    })
    // New mail is sent, and the old mail once it is released.
    const fresh = await putEmail(restored, team.id, ['new@x.example'], T0 + MINUTE)
    expect((await dueAfter(restored)).map(({ emailId }) => emailId)).toEqual([fresh.id])
    await restored.releaseQueue({}, T0 + MINUTE)
    const released = (await dueAfter(restored)).map(({ emailId }) => emailId)
    expect(released.sort()).toEqual([waits.id, large.id].sort())
    await restored.close()
  })

  test('a backup contains no usable session or sign-in link', async () => {
    const { dataDir, file, target } = await place()
    const storage = await openSqlite({ dataDir })
    const { team, user } = await makeTeam(storage)
    const times = { createdAt: T0, expiresAt: T0 + 14 * DAY }
    const session = { tokenHash: 'session', id: newId(T0), teamId: team.id, userId: user.id, ...times }
    const about = { method: 'password', strong: false, vouched: false, ip: null, userAgent: null } as const
    await storage.createSession({ ...session, ...about, lastSeenAt: T0, provedAt: T0 }, T0)
    const link = { tokenHash: 'link', kind: 'reset', userId: user.id, data: {} } as const
    await storage.createTicket({ ...link, ...times }, T0)
    await createBackupArchive(options(dataDir, file), T0)
    // The session was ended and the link used after the backup was made.
    await storage.endSessions({ userId: user.id, keep: null }, T0)
    await storage.close()
    await restore({ by, file, dataDir: target }, T0 + MINUTE)
    const restored = await openSqlite({ dataDir: target })
    expect(await restored.findUser({ email: user.email }, T0)).toMatchObject({ id: user.id })
    expect(await restored.findSession({ tokenHash: 'session' }, T0 + MINUTE)).toBeUndefined()
    expect(await restored.peekTicket(link, T0 + MINUTE)).toBeUndefined()
    await restored.close()
  })

  test('a backup is an archive that tar can unpack', async () => {
    const { dataDir, file } = await place()
    const { storage, large } = await filled(dataDir)
    await createBackupArchive(options(dataDir, file), T0)
    await storage.close()
    const names = execFileSync('tar', ['-tzf', file], { encoding: 'utf8' }).trim().split('\n')
    expect(names).toEqual([
      'posthaste-backup.json',
      'config/posthaste.toml',
      `messages/${large.id.slice(-2)}/${large.id}`,
      'posthaste.db',
      'manifest.json',
    ])
  })

  test('a backup without bodies keeps those of queued mail, which are needed to send it', async () => {
    const { dataDir, file, target } = await place()
    const { storage, team, done, waits, large } = await filled(dataDir)
    const { about } = await createBackupArchive({ ...options(dataDir, file), bodies: false }, T0)
    expect(about.counts).toMatchObject({ emails: 3, messages: 2 })
    await storage.close()
    await restore({ by, file, dataDir: target }, T0)
    const restored = await openSqlite({ dataDir: target })
    expect(await restored.getMessage({ emailId: done.id }, T0)).toBe(undefined)
    expect(await restored.getMessage({ emailId: waits.id }, T0)).toBeDefined()
    expect(await restored.getMessage({ emailId: large.id }, T0)).toBeDefined()
    expect(await restored.getEmail({ teamId: team.id, id: done.id }, T0)).toMatchObject({
      subject: done.subject,
      content: { place: 'row', html: null, text: null },
    })
    await restored.close()
  })

  test('a backup is consistent even if mail is accepted meanwhile', async () => {
    const { dataDir, file, target } = await place()
    const { storage, team } = await filled(dataDir)
    let running = true
    const sending = (async () => {
      let count = 0
      for (; running; count++)
        await putEmail(storage, team.id, ['a@x.example'], T0, {
          message: Buffer.alloc(count % 5 === 0 ? LARGE : 1000),
        })
      return count
    })()
    const { about } = await createBackupArchive({ ...options(dataDir, file), verify: true }, T0)
    running = false
    expect(await sending).toBeGreaterThan(0)
    await storage.close()
    expect(about.counts.emails).toBe(about.counts.messages)
    expect(await restore({ by, file, dataDir: target }, T0)).toMatchObject({ held: about.counts.waiting })
  })

  test('a backup does not overwrite a file, and requires a database', async () => {
    const { dataDir, file } = await place()
    await expect(createBackupArchive(options(dataDir, file), T0)).rejects.toThrow(`no database in ${dataDir}`)
    const { storage } = await filled(dataDir)
    await storage.close()
    await writeFile(file, 'mine')
    await expect(createBackupArchive(options(dataDir, file), T0)).rejects.toThrow(`${file} already exists`)
    expect(await readFile(file, 'utf8')).toBe('mine')
  })

  test('a backup fails if a message file that the database refers to is missing', async () => {
    const { dataDir, file, folder } = await place()
    const { storage, large } = await filled(dataDir)
    await rm(join(dataDir, 'messages', large.id.slice(-2), large.id))
    await expect(createBackupArchive(options(dataDir, file), T0)).rejects.toThrow(
      `The message of email ${large.id}`,
    )
    await storage.close()
    expect(await readdir(folder)).toEqual(['data'])
  })

  test('a killed backup leaves no file under its final name, and the next one cleans up', async () => {
    const { dataDir, file, folder } = await place()
    const { storage } = await filled(dataDir)
    await storage.close()
    const { child, lines } = runChild('backup-child.ts', dataDir)
    for await (const line of lines) if (line === 'begun') break
    await kill(child)
    const left = await readdir(folder)
    expect(left).not.toContain('backup')
    expect(left.some((name) => name.startsWith('backup.partial-'))).toBe(true)
    await createBackupArchive(options(dataDir, file), T0)
    expect((await readdir(folder)).sort()).toEqual(['backup', 'data'])
  })
})

describe('a restore', () => {
  const made = async () => {
    const where = await place()
    const { storage } = await filled(where.dataDir)
    await createBackupArchive(options(where.dataDir, where.file), T0)
    await storage.close()
    return where
  }

  test('a restore rejects a directory in use and leaves it unchanged', async () => {
    const { file, dataDir, target } = await made()
    await expect(restore({ by, file, dataDir }, T0)).rejects.toThrow('is not empty')
    await mkdir(target)
    await writeFile(join(target, 'notes.txt'), 'mine')
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow(`${target} is not empty`)
    expect(await readdir(target)).toEqual(['notes.txt'])
  })

  test.each([
    ['cut short', async (file: string) => truncate(file, (await stat(file)).size - 100)],
    [
      'with a changed byte',
      async (file: string) => {
        const bytes = gunzipSync(await readFile(file))
        bytes[bytes.indexOf('hostname')] = 0x48
        await writeFile(file, gzipSync(bytes))
      },
    ],
  ])('a restore rejects a backup %s, and can be repeated', async (_what, damage) => {
    const { file, target, dataDir, folder } = await made()
    await damage(file)
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow(`${file} could not be restored`)
    expect((await readdir(target)).filter((name) => !name.startsWith('daemon.'))).toEqual([])
    const second = join(folder, 'second')
    await createBackupArchive(options(dataDir, second), T0)
    expect(await restore({ by, file: second, dataDir: target }, T0)).toMatchObject({ held: 2 })
  })

  test('a killed restore leaves an unusable data directory, which the next restore completes', async () => {
    const { file, target } = await made()
    const { child, lines } = runChild('restore-child.ts', file)
    for await (const line of lines) if (line === 'begun') break
    await kill(child)
    await expect(openSqlite({ dataDir: target })).rejects.toThrow('run posthaste restore again')
    expect(await restore({ by, file, dataDir: target }, T0)).toMatchObject({ held: 2 })
    const storage = await openSqlite({ dataDir: target })
    expect((await storage.listQueue({ limit: 10 }, T0)).items).toHaveLength(2)
    await storage.close()
  })

  test.each([
    ['../escape', 'it contains ../escape'],
    ['/etc/passwd', 'it contains /etc/passwd'],
    ['messages/../../x', 'it contains messages/../../x'],
  ])('a restore rejects an entry outside its directory: %s', async (name, words) => {
    const { file, folder, target } = await place()
    const mark = Buffer.from('{"format":1}')
    const parts = [mark, Buffer.from('evil')].flatMap((bytes, at) => [
      tarHeader({ name: at === 0 ? 'posthaste-backup.json' : name, size: bytes.length }, T0),
      bytes,
      tarPadding(bytes.length),
    ])
    await writeFile(file, gzipSync(Buffer.concat([...parts, tarEnd()])))
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow(words)
    expect((await readdir(folder)).sort()).toEqual(['backup', 'new'])
  })

  test('a restore fails without creating a directory if the file does not exist', async () => {
    const { file, folder, target } = await place()
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow(`No such file: ${file}.`)
    await mkdir(file)
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow(`No such file: ${file}.`)
    expect(await readdir(folder)).toEqual(['backup'])
  })

  test('a restore rejects a file that is not a backup, or is from a newer version', async () => {
    const { file, target } = await place()
    await writeFile(file, 'hello')
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow(
      `${file} could not be restored: it is not a Posthaste backup, or it is damaged`,
    )
    const archive = (name: string, text: string) =>
      Buffer.concat([
        tarHeader({ name, size: text.length }, T0),
        Buffer.from(text),
        tarPadding(text.length),
        tarEnd(),
      ])
    await writeFile(file, gzipSync(archive('other.txt', 'hello')))
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow('is not a Posthaste backup')
    await writeFile(file, gzipSync(archive('posthaste-backup.json', '{"format":2}')))
    await expect(restore({ by, file, dataDir: target }, T0)).rejects.toThrow('made by a newer version')
  })
})

test('a tar header encodes sizes above 8 GB in base 256', () => {
  const header = tarHeader({ name: 'posthaste.db', size: 2 ** 33 }, T0)
  expect(header.subarray(124, 136).toString('hex')).toBe('800000000000000200000000')
  expect(createHash('sha256').update(header).digest('hex')).toHaveLength(64)
})

describe('copies before migrations', () => {
  test('copies the whole database before a migration', async () => {
    const { dataDir } = await place()
    await mkdir(dataDir)
    const shipped = shippedMigrations()
    const newest = shipped.at(-1)!.number
    const later = {
      number: newest + 10,
      name: 'later',
      checksum: 'c',
      sql: 'create table later (id text) strict',
    }
    const all = [...shipped, later]
    const old = new Database(join(dataDir, 'posthaste.db'))
    applyMigrations(old, shipped)
    old.exec("insert into teams (id, name, created_at) values ('t', 'Before', 0)")
    createSnapshot(old, findMissingMigrations(old, all), T0)
    applyMigrations(old, all)
    const [snapshot, ...others] = listSnapshots(dataDir)
    expect(others).toEqual([])
    expect(snapshot!.schema).toBe(newest)
    expect((await stat(snapshot!.file)).mode & 0o777).toBe(0o600)
    const db = new Database(snapshot!.file, { readonly: true })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(db.prepare('select name from teams').pluck().all()).toEqual(['Before'])
    db.close()
    // Nothing to upgrade, so nothing is copied.
    createSnapshot(old, findMissingMigrations(old, all), T0 + MINUTE)
    old.close()
    expect(listSnapshots(dataDir)).toHaveLength(1)
  })

  test('keeps the copies of the last two upgrades, and does not copy a new database', async () => {
    const { dataDir } = await place()
    await mkdir(dataDir)
    const db = new Database(join(dataDir, 'posthaste.db'))
    const all = [1, 2, 3, 4].map((number) => ({
      number,
      name: `step_${number}`,
      checksum: `${number}`,
      sql:
        number === 1
          ? 'create table migrations (number integer primary key, name text, checksum text, applied_at integer)'
          : `create table step_${number} (id text)`,
    }))
    createSnapshot(db, all, T0)
    expect(listSnapshots(dataDir)).toEqual([])
    for (let count = 1; count <= 3; count++) {
      applyMigrations(db, all.slice(0, count))
      createSnapshot(db, all.slice(count), T0 + count * MINUTE)
    }
    db.close()
    expect(listSnapshots(dataDir).map(({ schema }) => schema)).toEqual([2, 3])
  })
})
