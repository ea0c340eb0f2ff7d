import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'
import { GONE_ANYWAY, routesById, type ApiDocument, type RouteById } from '../world/routes-by-id.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { addMember, givePassword, type Person } from './people.ts'

/** Tests what users of another team, and users with a stolen cookie, can access from a real browser. */

const OWNER: Person = { email: 'noah@other.example', password: 'noahs boat lies in the other harbour' }
const SUBJECT = 'Invoice 4711 for Ada'
let posthaste: TestAppliance
let browser: Browser

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const shell = (page: Page) => page.getByRole('navigation', { name: 'Main' })
const ours = (): Person => ({ email: posthaste.ownerEmail, password: posthaste.ownerPassword })

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

async function signedIn(person: Person): Promise<Watched> {
  const opened = await openPage(browser)
  await opened.page.goto(at('/account'))
  await givePassword(opened.page, person)
  await shell(opened.page).waitFor()
  return opened
}

interface Listed {
  data: { id: string }[]
}

describe('an owner of another team', () => {
  let other: Watched
  /** One object of each kind in the sandbox's team. */
  let things: Record<
    'email' | 'caught' | 'domain' | 'key' | 'webhook' | 'suppression' | 'log' | 'act',
    string
  >

  beforeAll(async () => {
    const made = async (path: string, body: object) =>
      (await posthaste.call<{ id: string }>('POST', path, body)).body.id
    // Some of it is stored only after the response.
    const first = (path: string) =>
      vi.waitUntil(async () => (await posthaste.call<Listed>('GET', path)).body.data[0]?.id, {
        timeout: PATIENCE,
      })
    const email = await posthaste.send({ to: 'ada@reader.example', subject: SUBJECT })
    await posthaste.until(email, isFinal)
    things = {
      email,
      caught: await first('/sandbox/messages'),
      domain: await first('/domains'),
      key: await first('/api-keys'),
      webhook: await made('/webhooks', { endpoint: 'https://app.example/hooks', events: ['email.sent'] }),
      suppression: await made('/suppressions', { email: 'nobody@reader.example' }),
      log: await first('/logs'),
      act: await first('/audit'),
    }
    const { accounts } = posthaste.appliance
    await addMember(posthaste, 'admin', OWNER)
    const userId = (await accounts.members.listMembers({ teamId: posthaste.teamId })).find(
      ({ email }) => email === OWNER.email,
    )!.userId
    await accounts.teams.createTeam({ name: 'Other', ownerId: userId })
    await accounts.members.leave({ teamId: posthaste.teamId, userId })
    other = await signedIn(OWNER)
  })
  afterAll(() => other?.context.close())

  test('an owner of another team finds nothing of this team on any page, even with a shared URL', async () => {
    const { page, errors } = other
    const pages: [path: string, words: string | RegExp][] = [
      [`/emails/${things.email}`, 'Email not found.'],
      [`/emails/${things.email}?tab=source`, 'Email not found.'],
      ['/emails', 'No emails yet'],
      [`/emails?q=${encodeURIComponent(SUBJECT)}`, /^No matching emails/],
      [`/inbox/${things.caught}`, 'Message not found.'],
      ['/inbox', /^No messages/],
      [`/domains/${things.domain}`, 'Domain not found.'],
      [`/webhooks/${things.webhook}`, 'Webhook not found.'],
      [`/logs/${things.log}`, 'Log not found.'],
      [`/settings/audit?id=${things.act}`, 'Entry not found.'],
      [`/suppressions?id=${things.suppression}`, 'This address is no longer suppressed.'],
      ['/queue', 'The queue is empty'],
      ['/api-keys', 'No API keys yet'],
      ['/metrics', 'No mail in this period'],
    ]
    for (const [path, words] of pages) {
      await page.goto(at(path))
      const all = page.locator('main, dialog[open]')
      await all.getByText(words).first().waitFor()
      const text = (await all.allInnerTexts()).join()
      for (const secret of [SUBJECT, 'ada@', 'nobody@', posthaste.domain, 'app.example'])
        expect({ path, secret, shown: text.includes(secret) }).toEqual({ path, secret, shown: false })
    }
    expect(errors).toEqual([])
  })

  test('an owner of another team cannot use this team’s IDs on any API route from a dashboard page', async () => {
    const document = (await (await fetch(`${posthaste.url}/openapi.json`)).json()) as ApiDocument
    const asked = routesById(document, [...Object.values(things), posthaste.teamId])
    expect(asked.length).toBeGreaterThan(300)
    const statuses = await ask(other.page, asked)
    const got = statuses.flatMap((status, at) =>
      status === 403 || status === 404 || GONE_ANYWAY.includes(asked[at]!.name)
        ? []
        : [`${asked[at]!.name}: ${status}`],
    )
    expect([...new Set(got)]).toEqual([])
  })
})

/** Makes all requests from within the page, as its scripts do. */
const ask = (page: Page, routes: RouteById[]) =>
  page.evaluate<number[]>(`(async (routes) => {
    const statuses = []
    for (const { method, path, body } of routes) {
      const headers = { 'x-requested-with': 'dashboard', ...(body && { 'content-type': 'application/json' }) }
      const answer = await fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      statuses.push(answer.status)
    }
    return statuses
  })(${JSON.stringify(routes)})`)

describe('an attacker with another user’s cookie', () => {
  const CHANGED = 'a third lantern over the pier'

  /** Opens a browser with all the cookies of another one. */
  async function thiefOf(victim: Watched): Promise<Watched> {
    const thief = await openPage(browser)
    await thief.context.addCookies(await victim.context.cookies(posthaste.url))
    return thief
  }
  const tokenOf = async ({ context }: Watched) =>
    (await context.cookies(posthaste.url)).find(({ name }) => name === 'posthaste_session')?.value

  test('an attacker cannot read the cookie by script or take over the account, and is signed out with its owner', async () => {
    const owner = await signedIn(ours())
    // A script injected into the page can't find the cookie anywhere.
    const kept = 'document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })'
    expect(await owner.page.evaluate<string>(kept)).not.toContain((await tokenOf(owner))!)
    const thief = await thiefOf(owner)
    await thief.page.goto(at('/account?do=password'))
    await thief.page.getByLabel('Current password').fill('a guess of ten letters')
    await thief.page.getByLabel('New password', { exact: true }).fill(CHANGED)
    await thief.page.getByLabel('Confirm new password').fill(CHANGED)
    await thief.page.getByRole('button', { name: 'Change password' }).click()
    await thief.page.getByText('wrong password').waitFor()

    await owner.page.getByRole('button', { name: 'Sign out' }).click()
    await owner.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    await thief.page.goto(at('/emails'))
    await thief.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    await owner.context.close()
    await thief.context.close()
  })

  test('an attacker is signed out on the open page when the owner changes the password', async () => {
    const owner = await signedIn(ours())
    const thief = await thiefOf(owner)
    await thief.page.goto(at('/emails'))
    await shell(thief.page).waitFor()
    await owner.page.getByRole('link', { name: 'Change password' }).click()
    await owner.page.getByLabel('Current password').fill(posthaste.ownerPassword)
    await owner.page.getByLabel('New password', { exact: true }).fill(CHANGED)
    await owner.page.getByLabel('Confirm new password').fill(CHANGED)
    await owner.page.getByRole('button', { name: 'Change password' }).click()
    await owner.page.getByText('Password changed.').waitFor()
    await thief.page.getByRole('link', { name: 'Domains', exact: true }).click()
    await thief.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    await owner.page.reload()
    await owner.page.getByText('You aren’t signed in anywhere else.').waitFor()
    await owner.context.close()
    await thief.context.close()
  })

  test('an attacker gains nothing by planting their own cookie: signing in replaces it', async () => {
    const planter = await signedIn(OWNER)
    const planted = await tokenOf(planter)
    const victim = await thiefOf(planter)
    await victim.page.goto(at('/emails'))
    await victim.page.getByRole('button', { name: 'Sign out' }).click()
    await givePassword(victim.page, { ...ours(), password: CHANGED })
    await shell(victim.page).waitFor()
    expect(await tokenOf(victim)).toMatch(/^[\w-]{43}$/)
    expect(await tokenOf(victim)).not.toBe(planted)
    await planter.page.goto(at('/domains'))
    await planter.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    await victim.context.close()
    await planter.context.close()
  })
})
