import { afterEach, expect, test } from 'vitest'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { Device, openBrowser } from './browser-of.ts'
import { ask, owner, startApi, type Api } from './harness.ts'

/** Tests that a new password ends everything started with the old one, including what is in progress. */

let api: Api
/** Runs once, right before the named storage method. */
let before: { method: keyof Storage; act: () => Promise<void> } | null = null
afterEach(() => api.close())

async function start(): Promise<void> {
  const between = (storage: Storage): Storage =>
    new Proxy(storage, {
      get(target, name) {
        const found = Reflect.get(target, name) as unknown
        if (typeof found !== 'function') return found
        return async (...args: unknown[]): Promise<unknown> => {
          if (before?.method === name) {
            const { act } = before
            before = null
            await act()
          }
          return (found as (...all: unknown[]) => unknown).apply(target, args)
        }
      },
    })
  api = await startApi({ storage: between })
}

const NEW = 'a lantern over the old pier'

/** Sets a new password as the owner, with an emailed link. */
async function reset(): Promise<void> {
  const { token } = (await api.accounts.beginReset({ email: owner.email, byMail: true }))!
  const done = await ask(`${api.url}/session/reset/confirm`, 'POST', { token, password: NEW })
  expect(done.status, done.text).toBe(200)
}

const signIn = (password: string) => ask(`${api.url}/session`, 'POST', { email: owner.email, password })

test('a sign-in with the old password fails if the password is reset meanwhile', async () => {
  await start()
  const thief = openBrowser(api.url)
  before = { method: 'createSession', act: reset }
  expect((await thief.call('POST', '/session', owner)).status).toBe(403)
  expect((await thief.call('GET', '/session')).status).toBe(401)
  expect((await signIn(NEW)).status).toBe(200)
})

test('a password change fails if the password is reset meanwhile', async () => {
  await start()
  const thief = openBrowser(api.url)
  expect((await thief.call('POST', '/session', owner)).status).toBe(200)
  before = { method: 'setPassword', act: reset }
  const body = { current: owner.password, new: 'a thief rows under the pier' }
  expect((await thief.call('POST', '/account/password', body)).status).toBe(403)
  expect((await signIn('a thief rows under the pier')).status).toBe(403)
  expect((await signIn(NEW)).status).toBe(200)
})

test('a password reset discards a passkey that is being added', async () => {
  await start()
  const origin = api.url.replace('127.0.0.1', 'localhost')
  const thief = openBrowser(origin)
  const device = new Device(origin)
  expect((await thief.call('POST', '/session', owner)).status).toBe(200)
  const made = await thief.call('POST', '/account/passkeys/options')
  const { options } = made.json as { options: { challenge: string; user: { id: string } } }
  before = { method: 'addPasskey', act: reset }
  const body = { name: 'Thief', response: device.create(options) }
  expect((await thief.call('POST', '/account/passkeys', body)).status).toBe(401)
  const asked = await openBrowser(origin).call('POST', '/session/passkey/options')
  const response = device.get((asked.json as { options: { challenge: string } }).options)
  expect((await openBrowser(origin).call('POST', '/session/passkey', { response })).status).toBe(403)
})
