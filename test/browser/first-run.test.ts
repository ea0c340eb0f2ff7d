import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSetup } from '../../appliance/accounts/accounts.ts'
import { systemClock } from '../../appliance/clock/clock.ts'
import type { Domain, DomainRecord } from '../../appliance/api/domains.ts'
import { startZoneServer, type ZoneServer } from '../../appliance/sandbox/zone.ts'
import { freeAddress } from '../world/addresses.ts'
import { startEmptyAppliance, type EmptyAppliance } from '../world/empty-appliance.ts'
import { createWorld, type World } from '../world/world.ts'
import { sound } from './sound.ts'
import { launch, openPage, type Watched } from './browser.ts'

/** From an empty data directory to the first delivered email, using only the dashboard. */

const NS = ['ns.world.test', 'ns2.world.test']
const OWNER = { email: 'ada@reader.example', password: 'quiet harbour lanterns at dusk' }

let world: World
/** The zone's second name server, which gets changes later. */
let second: ZoneServer
let empty: EmptyAppliance
let browser: Browser
let desk: Watched
let page: Page

const at = (path: string) => `${empty.url}/dashboard${path}`
const setUp = () => createSetup({ ...empty.appliance, clock: systemClock })

/**
 * Opens the link in the tab where its page is already open. The page must reload, because only the fragment changed.
 */
const follow = (token: string) => Promise.all([page.waitForEvent('load'), page.goto(at(`/setup#${token}`))])

beforeAll(async () => {
  const address = freeAddress()
  world = await createWorld({
    domains: { 'reader.example': { mx: [{ preference: 10, host: 'mx.reader.example' }] } },
    names: {
      'shop.example': { NS },
      'mail.sender.test': { A: '127.0.0.1' },
      'ns2.world.test': { A: address },
    },
  })
  second = await startZoneServer({ zone: { 'shop.example': { NS } }, address, port: world.authoritativePort })
  empty = await startEmptyAppliance(world)
  browser = await launch()
  desk = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] })
  page = desk.page
})

afterAll(async () => {
  await browser?.close()
  await empty?.close()
  await second?.close()
  await world?.close()
})

/** Publishes the records that match `which` on the name servers `where`. */
function publish(
  domain: Domain,
  where: ('first' | 'second')[],
  which: (record: DomainRecord) => boolean,
): void {
  const chosen = domain.records.filter(which)
  for (const fqdn of new Set(chosen.map((record) => record.fqdn))) {
    const here = chosen.filter((record) => record.fqdn === fqdn)
    const mx = here.filter(({ type }) => type === 'MX')
    const entry = {
      NS,
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: mx.map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    }
    if (where.includes('first')) world.dns.set(fqdn, entry)
    if (where.includes('second')) second.set(fqdn, entry)
  }
}

const domainOf = (id: string) =>
  page.evaluate<Domain>(`fetch('/domains/${id}').then((answer) => answer.json())`)

describe('before setup', () => {
  test('before setup, the dashboard says where to find the setup link', async () => {
    await page.goto(at('/'))
    await page.getByText('Open the setup link that the server printed').waitFor()
    await expect.poll(() => page.url()).toBe(at('/setup'))
    await sound(page, 'setup-no-link')
  })

  test('a wrong setup token is rejected with a message', async () => {
    await follow('not-the-token')
    await page.getByLabel('Email address').fill(OWNER.email)
    await page.getByLabel('Password').fill(OWNER.password)
    await page.getByLabel('Team', { exact: true }).fill('Shop')
    await page.getByRole('button', { name: 'Create owner' }).click()
    await page.getByText('This setup link is invalid, expired or already used.').waitFor()
  })
})

test('the setup wizard leads from an empty data directory to the first delivered email', async () => {
  const { token } = (await setUp().open())!
  await follow(token)

  // 1: a weak password is refused, and the link still works afterwards.
  await page.getByLabel('Email address').fill(OWNER.email)
  await page.getByLabel('Password').fill('short')
  await page.getByLabel('Team', { exact: true }).fill('Shop')
  await sound(page, 'setup-1-owner')
  await page.getByRole('button', { name: 'Create owner' }).click()
  await page.getByRole('alert').filter({ hasText: 'at least' }).waitFor()
  await page.getByLabel('Password').fill(OWNER.password)
  await page.getByRole('button', { name: 'Create owner' }).click()

  // 2: the token is gone from the address bar, and the checks' findings are shown.
  await page.getByText('Other mail servers know this server as').waitFor()
  await expect.poll(() => page.url()).toBe(at('/setup'))
  expect(await setUp().open()).toBeNull()
  await page.getByRole('link', { name: /^Set up/ }).waitFor()
  await page.getByRole('button', { name: 'Continue anyway' }).waitFor({ timeout: 90_000 })
  await page.getByText('Some checks didn’t pass.').waitFor()
  await sound(page, 'setup-2-host')
  await page.getByRole('button', { name: 'Continue anyway' }).click()

  // 3: nothing is published, then one server has a record, then all servers have all records.
  await page.getByLabel('Domain').fill('shop.example')
  await page.getByRole('button', { name: 'Add domain' }).click()
  await page.getByText('Responses from each of the zone’s name servers').waitFor()
  const [{ id }] = await page.evaluate<[{ id: string }]>(
    `fetch('/domains').then((answer) => answer.json()).then(({ data }) => data)`,
  )
  const domain = await domainOf(id)
  const dkim = page.locator('tbody', { hasText: 'DKIM' }).first()
  await dkim.getByText('not found yet').first().waitFor()
  await sound(page, 'setup-3-nothing')
  publish(domain, ['first'], ({ record }) => record === 'DKIM')
  await dkim.getByText('propagating').waitFor()
  await dkim.getByText('1 of 2 name servers have it.').waitFor()
  await sound(page, 'setup-3-half')

  // After leaving and returning, the wizard shows the same step.
  await page.goto(at('/emails'))
  await page.getByRole('link', { name: /^Set up/ }).click()
  await dkim.getByText('propagating').waitFor()
  publish(domain, ['first', 'second'], () => true)

  // 4: the key is shown once.
  await page.getByRole('button', { name: 'Create API key' }).click()
  await page.getByText('This token is shown only once').waitFor()
  await sound(page, 'setup-4-key')
  await page.getByRole('button', { name: 'I’ve stored the key' }).click()

  // 5: the first email, to the owner.
  await expect.poll(() => page.getByLabel('To', { exact: true }).inputValue()).toBe(OWNER.email)
  await sound(page, 'setup-5-email')
  await page.getByRole('button', { name: 'Send first email' }).click()
  await page.getByText('Everything works.').waitFor()
  expect(world.mailboxOf('mx.reader.example')).toHaveLength(1)
  await sound(page, 'setup-5-done')

  await page.goto(at('/emails'))
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await expect.poll(() => page.getByRole('link', { name: /^Set up/ }).count()).toBe(0)
  expect(desk.errors).toEqual([])
}, 600_000)

test('a domain page shows the response of each name server', async () => {
  await page.goto(at('/domains'))
  await page.getByRole('link', { name: 'shop.example' }).click()
  const own = page.url()
  await page.getByRole('link', { name: 'Check name servers now' }).click()
  await page.getByText('ns2.world.test').first().waitFor()
  expect(page.url()).toBe(`${own}?ask=1`)
  await page.goBack()
  await page.getByRole('link', { name: 'Check name servers now' }).waitFor()
  await expect.poll(() => page.getByText('ns2.world.test').count()).toBe(0)
  await page.goto(`${own}?ask=1`)
  await page.getByText('ns2.world.test').first().waitFor()
  await sound(page, 'domain-propagation')
})

test('a used setup link creates no second owner', async () => {
  const other = await openPage(browser)
  await other.page.goto(at('/setup#used'))
  await other.page.getByText('This server already has an owner.').waitFor()
  const answer = await other.context.request.post(`${empty.url}/setup`, {
    data: { token: 'used', ...OWNER, team_name: 'Thieves' },
  })
  expect(answer.status()).toBe(403)
  await other.context.close()
})
