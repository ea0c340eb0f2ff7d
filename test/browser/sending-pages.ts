import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { Domain } from '../../appliance/api/domains.ts'
import type { Timeline } from '../../appliance/api/timeline.ts'
import { sound } from './sound.ts'
import type { Stage } from './stage.ts'

/** Registers tests of the pages for keys, domains, suppressions and scheduled emails. */
export function sendingPages(stage: Stage): void {
  describe('API keys', () => apiKeys(stage))
  describe('adding domains', () => domains(stage))
  describe('suppressions', () => suppressions(stage))
  describe('a scheduled email', () => scheduled(stage))
  describe('attachments and share links', () => attachments(stage))
  describe('navigation', () => around(stage))
}

const ids = (body: unknown) => (body as { data: { id: string }[] }).data.map(({ id }) => id)

function apiKeys(stage: Stage): void {
  test('finds an API key by its name, permission or token, with the search in the URL', async () => {
    const { page, at, posthaste } = stage
    const names = [
      'Accounts',
      'Billing',
      'Careers',
      'Desk',
      'Events',
      'Forum',
      'Gazette',
      'Helpdesk',
      'Invoices',
    ]
    // One after the other, because the list shows the newest first.
    const made: { body: { id: string; token: string } }[] = []
    for (const name of names)
      made.push(await posthaste.call('POST', '/api-keys', { name, permission: 'sending_access' }))
    const rows = () => page.locator('main [data-row]').allInnerTexts()
    await page.goto(at('/api-keys'))
    await page.getByLabel('Find a key').fill('DESK sending')
    await page.keyboard.press('Enter')
    await expect.poll(rows).toEqual(['Helpdesk', 'Desk'])
    await expect.poll(() => page.url()).toBe(at('/api-keys?q=DESK+sending'))
    await sound(page, 'keys-found')
    const wanted = made[3]!.body
    await page.getByLabel('Find a key').fill(wanted.token)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toBe(at(`/api-keys?q=${wanted.token.slice(0, 11)}`))
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
    await stage.row(wanted.id).waitFor()
    await page.getByRole('cell', { name: `${wanted.token.slice(0, 11)}…` }).waitFor()
    await page.goto(at('/api-keys?q=nothing+like+that'))
    await page.getByText('None of').waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()
    await expect
      .poll(async () => (await rows()).filter((name) => names.includes(name)).toSorted())
      .toEqual(names)
    for (const { body } of made) await posthaste.call('DELETE', `/api-keys/${body.id}`)
  })

  const sendWith = (token: string) =>
    fetch(`${stage.posthaste.url}/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        from: `hello@${stage.posthaste.domain}`,
        to: 'ada@reader.example',
        subject: 'With a new key',
        text: 'Words',
      }),
    })

  test('creates a key with a working token, renames it, and deletes it', async () => {
    const { page, at } = stage
    await page.goto(at('/api-keys'))
    await page.getByRole('link', { name: 'Create API key' }).click()
    await expect.poll(() => page.url()).toBe(at('/api-keys?new=1'))
    await page.getByLabel('Name').fill('Shop')
    await page.getByRole('button', { name: 'Domain: All domains' }).click()
    await page.getByRole('option', { name: stage.posthaste.domain, exact: true }).click()
    await page.getByRole('button', { name: `Domain: ${stage.posthaste.domain}` }).waitFor()
    await page.getByRole('button', { name: 'Create key', exact: true }).click()

    const sheet = page.getByRole('dialog', { name: 'API key created' })
    const token = (await sheet.locator('pre').first().innerText()).trim()
    expect(token).toMatch(/^re_\S{20,}$/)
    await expect.poll(() => sheet.locator('pre').nth(1).innerText()).toContain(`Bearer ${token}`)
    await sheet.getByRole('button', { name: 'Node' }).click()
    const example = () => sheet.locator('pre').nth(1).innerText()
    await expect.poll(example).toContain(`baseUrl: '${stage.posthaste.url}'`)
    await sheet.getByRole('button', { name: 'PHP' }).click()
    await expect.poll(example).toContain(`Resend::client('${token}')`)
    await sheet.getByRole('button', { name: 'SMTP' }).click()
    await expect.poll(example).toContain(`$mail->Password = '${token}'`)
    const port = stage.posthaste.appliance.smtp.starttls[0]!.split(':')[1]!
    expect(await example()).toContain(`$mail->Port = ${port};`)
    await sound(page, 'key-smtp')
    await sheet.getByRole('button', { name: 'API', exact: true }).click()
    // A single slip doesn't close the dialog with the only copy of the token; it takes two tries.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    expect((await sheet.locator('pre').first().innerText()).trim()).toBe(token)
    expect((await sendWith(token)).status).toBe(200)
    await sheet.getByRole('button', { name: 'I’ve stored the key' }).click()

    const shop = page.locator('tr', { hasText: 'Shop' })
    await shop.getByText('Sending access').waitFor()
    await expect.poll(() => shop.locator('td.domain').innerText()).toBe(stage.posthaste.domain)
    await shop.getByRole('link').click()
    await page.getByLabel('Name').fill('Shop, the new one')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('link', { name: 'Shop, the new one' }).click()
    await page.getByRole('link', { name: 'Delete key…' }).click()
    const question = page.getByRole('dialog', { name: 'Delete “Shop, the new one”?' })
    await question.waitFor()
    await page.goBack()
    await expect.poll(() => question.count()).toBe(0)
    await page.getByLabel('Name').waitFor()
    await page.goForward()
    await question.waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => question.count()).toBe(0)
    expect(page.url()).toMatch(/\?key=[^&]+$/)
    await page.getByRole('link', { name: 'Delete key…' }).click()
    await page.reload()
    await question.waitFor()
    expect((await sendWith(token)).status).toBe(200)
    await question.getByRole('button', { name: 'Delete key' }).click()
    await page.getByText('It no longer works.').waitFor()
    await expect.poll(() => page.locator('tr', { hasText: 'Shop' }).count()).toBe(0)
    // Two steps back, past the panel of a deleted key.
    await expect.poll(() => page.url()).toBe(stage.at('/api-keys'))
    await page.goForward()
    expect(page.url()).toMatch(/\?key=[^&]+$/)
    expect((await sendWith(token)).status).toBe(403)
  })

  test('a sheet has its own URL, and Back closes it', async () => {
    const { page, at } = stage
    await page.goto(at('/api-keys'))
    await page.getByRole('link', { name: 'Create API key' }).click()
    await page.getByRole('dialog').waitFor()
    await page.goBack()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.goForward()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(at('/api-keys'))
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })
}

function domains(stage: Stage): void {
  test('adds a domain, shows its records, changes its settings, and deletes it once its name is typed', async () => {
    const { page, at, posthaste } = stage
    await page.goto(at('/domains'))
    await page.getByRole('link', { name: 'Add domain' }).click()
    await page.getByLabel('Domain', { exact: true }).fill('not a name')
    await page.getByRole('button', { name: 'Add domain' }).click()
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor()
    await page.getByLabel('Domain', { exact: true }).fill('news.sender.example')
    await page.getByRole('button', { name: 'Add domain' }).click()
    await page.getByRole('heading', { name: 'news.sender.example' }).waitFor()
    await page.getByText('posthaste._domainkey.news', { exact: true }).first().waitFor()

    const id = page.url().split('/').at(-1)!
    await page.getByRole('link', { name: 'DKIM keys' }).click()
    await page.getByText('waiting for record').first().waitFor()
    const views = page.getByRole('navigation', { name: 'Views of this domain' })
    await views.getByRole('link', { name: 'Settings' }).click()
    await page.getByText('Always').click()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Settings saved').waitFor()
    expect((await posthaste.call<{ tls: string }>('GET', `/domains/${id}`)).body.tls).toBe('enforced')

    await page.getByRole('link', { name: 'Delete domain…' }).click()
    const question = page.getByRole('dialog', { name: 'Delete news.sender.example?' })
    await question.getByRole('button', { name: 'Delete domain' }).click({ force: true })
    expect((await posthaste.call('GET', `/domains/${id}`)).status).toBe(200)
    await question.getByLabel('Type news.sender.example to confirm').fill('news.sender.example')
    await question.getByRole('button', { name: 'Delete domain' }).click()
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    expect((await posthaste.call('GET', `/domains/${id}`)).status).toBe(404)
  })

  test(
    'rotates DKIM keys: new ones become active once their records are found, and old ones retire',
    { timeout: 60_000 },
    async () => {
      const { page, at, posthaste } = stage
      const [id] = ids((await posthaste.call('GET', '/domains')).body)
      const keys = async (state: string) => {
        const { body } = await posthaste.call<Domain>('GET', `/domains/${id}`)
        return body.dkim_keys.filter((key) => key.state === state).map(({ selector }) => selector)
      }
      const before = await keys('active')
      await page.goto(at(`/domains/${id}?tab=dkim`))
      await page.getByRole('link', { name: 'Rotate keys' }).click()
      await page.getByRole('button', { name: 'Create new keys' }).click()
      await page.getByText('New keys created.').waitFor()
      // The sandbox publishes every record that a domain needs, so the waiting ends by itself.
      await expect.poll(() => keys('retiring')).toEqual(before)
      for (const selector of [...before, ...(await keys('active'))])
        await page.getByText(selector, { exact: true }).waitFor()
      await page.getByText('retiring', { exact: true }).first().waitFor()
    },
  )
}

function suppressions(stage: Stage): void {
  test('suppresses pasted addresses, shows a suppression when sending, and removes one again', async () => {
    const { page, at, posthaste } = stage
    // Bounces in earlier tests filled the list.
    const { body } = await posthaste.call<{ data: { email: string }[] }>('GET', '/suppressions')
    for (const { email } of body.data) await posthaste.call('DELETE', `/suppressions/${email}`)
    await page.goto(at('/suppressions'))
    await page.getByText('No suppressed addresses').waitFor()
    await page.getByRole('link', { name: 'import a file' }).click()
    await page.getByRole('dialog').getByRole('heading').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Suppress addresses' }).click()
    await page
      .getByRole('textbox', { name: 'Addresses' })
      .fill('"Away, Gone" <gone@reader.example>\nnobody\nnever@reader.example\n')
    await page.getByText('This isn’t a valid address').waitFor()
    await page.getByRole('button', { name: 'Suppress 2 addresses' }).click()
    await page.getByText('2 addresses suppressed.').waitFor()
    await page.getByRole('link', { name: 'gone@reader.example' }).waitFor()

    const email = await posthaste.send({ to: 'gone@reader.example', subject: 'To nobody' })
    await page.goto(at('/emails'))
    await stage.row(email).getByText('suppressed').waitFor()
    await page.goto(at(`/emails/${email}`))
    await page.getByText('Final status: suppressed').waitFor()

    await page.goto(at('/suppressions'))
    await page.getByRole('link', { name: 'never@reader.example' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('Gone@reader.example')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('link', { name: 'never@reader.example' }).count()).toBe(0)
    await page.getByRole('link', { name: 'gone@reader.example' }).click()
    await page.getByRole('button', { name: 'Remove from the list' }).click()
    await page.getByText('Gone@reader.example is not suppressed').waitFor()
    expect((await posthaste.call('GET', '/suppressions/gone@reader.example')).status).toBe(404)
  })

  test('filters the suppression list by origin, with the filter in the URL', async () => {
    const { page, at } = stage
    await page.goto(at('/suppressions'))
    await page.getByRole('link', { name: 'never@reader.example' }).waitFor()
    await page.getByRole('button', { name: 'Bounces' }).click()
    await page.getByText('No suppressions with this origin').waitFor()
    await expect.poll(() => page.url()).toBe(at('/suppressions?origin=bounce'))
    await page.reload()
    await page.getByText('No suppressions with this origin').waitFor()
    await page.getByRole('button', { name: 'Manual' }).click()
    await page.getByRole('link', { name: 'never@reader.example' }).waitFor()
  })
}

function scheduled(stage: Stage): void {
  test('a scheduled email is rescheduled, then canceled, and never sent', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({
      to: 'ada@reader.example',
      subject: 'Not now',
      scheduled_at: 'in 2 hours',
    })
    await page.goto(at('/emails'))
    await stage.row(id).getByText('scheduled').waitFor()
    await page.goto(at(`/emails/${id}`))
    await page.getByRole('link', { name: 'Reschedule' }).click()
    const tomorrow = new Date(Date.now() + 86_400_000)
    tomorrow.setSeconds(0, 0)
    const local = new Date(tomorrow.getTime() - tomorrow.getTimezoneOffset() * 60_000)
    await page.getByLabel('Send at').fill(local.toISOString().slice(0, 16))
    await page.getByRole('button', { name: 'Reschedule', exact: true }).click()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    const { body } = await posthaste.call<{ scheduled_at: string }>('GET', `/emails/${id}`)
    expect(Date.parse(body.scheduled_at.replace(' ', 'T').replace('+00', 'Z'))).toBe(tomorrow.getTime())

    await page.getByRole('link', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel email' }).click()
    await page.getByText('Final status: canceled').waitFor()
    await expect.poll(() => page.url()).toBe(at(`/emails/${id}`))
    await expect.poll(() => page.getByRole('link', { name: 'Reschedule' }).count()).toBe(0)
    const { body: after } = await posthaste.call<Timeline>('GET', `/emails/${id}/timeline`)
    expect(after.deliveries.map(({ state }) => state)).toEqual(['canceled'])
  })
}

function attachments(stage: Stage): void {
  test('attachments are listed and downloaded', async () => {
    const { page, at, posthaste } = stage
    const content = Buffer.from('Lines of a file\n').toString('base64')
    const id = await posthaste.send({
      to: 'ada@reader.example',
      attachments: [{ filename: 'notes.txt', content }],
    })
    await page.goto(at(`/emails/${id}?tab=attachments`))
    await page.getByText('16 bytes').waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download notes.txt' }).click(),
    ])
    expect(file.suggestedFilename()).toBe('notes.txt')
    const chunks: Buffer[] = []
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString()).toBe('Lines of a file\n')
  })

  test('a share link shows the email without sign-in', async () => {
    const { page, at, posthaste, browser } = stage
    const id = await posthaste.send({ to: 'ada@reader.example', subject: 'Shared with a stranger' })
    await page.goto(at(`/emails/${id}`))
    await page.getByRole('link', { name: 'Share' }).click()
    await page.getByRole('button', { name: 'Create link' }).click()
    const url = (await page.getByRole('dialog').locator('pre').innerText()).trim()
    const stranger = await browser.newContext()
    const theirs = await stranger.newPage()
    await theirs.goto(url)
    await theirs.getByText('Shared with a stranger').first().waitFor()
    await stranger.close()
  })
}

function around(stage: Stage): void {
  test('Ctrl K opens a page, starts an action, and finds an email by its ID', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({ to: 'ada@reader.example', subject: 'Found by its id' })
    await page.goto(at('/domains'))
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('sup')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Suppressions', exact: true }).waitFor()

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('create')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create API key' }).waitFor()
    await page.keyboard.press('Escape')

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(`${posthaste.url}/emails/${id}`)
    await page.getByRole('option', { name: 'Found by its id' }).click()
    await page.getByRole('heading', { name: 'Found by its id' }).waitFor()
    await expect.poll(() => page.url()).toBe(at(`/emails/${id}`))

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('01890000-0000-7000-8000-000000000000')
    await page.getByText('No email has this ID').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  test('settings show today’s usage and its history, also at the old URL', async () => {
    const { page, at, posthaste } = stage
    await page.goto(at('/usage?by=months'))
    await expect.poll(() => page.url()).toBe(at('/settings/usage'))
    expect(await page.getByRole('navigation', { name: 'Main' }).getByText('Usage').count()).toBe(0)
    await page.getByRole('navigation', { name: 'Settings' }).getByText('Usage and limits').waitFor()
    const { body } = await posthaste.call<{ emails: { daily: { used: number } } }>('GET', '/usage')
    const { used } = body.emails.daily
    expect(used).toBeGreaterThan(0)
    const today = page.locator('section', { hasText: 'Recipients today' })
    await today.getByText(String(used), { exact: true }).waitFor()
    await today.getByText('no limit').waitFor()
    await today.getByText(/resets in .+, at\s+00:00 UTC/).waitFor()
    const history = page.getByRole('region', { name: 'History' })
    await history
      .getByText(new RegExp(`^${used} recipients in total\\. Busiest: .+ with ${used}\\.$`))
      .waitFor()
    await history.getByText('Show as table').click()
    await expect.poll(() => history.locator('tbody tr').count()).toBe(30)
    await sound(page, 'usage')
    await history.getByRole('button', { name: '12 months' }).click()
    await expect.poll(() => page.url()).toBe(at('/settings/usage?by=months'))
    await expect.poll(() => history.locator('tbody tr').count()).toBe(12)
  })

  test('a plan shows the remaining quota, and when the quota is used up', async () => {
    const { page, at } = stage
    const usage = (used: number) => (route: Route) =>
      route.fetch().then(async (answer) => {
        const body = (await answer.json()) as { emails: Record<'daily' | 'monthly', object> }
        Object.assign(body.emails.daily, { used, limit: 100 })
        Object.assign(body.emails.monthly, { used: 2000, limit: 3000 })
        await route.fulfill({ response: answer, json: body })
      })
    const counts = ({ pathname }: URL) => pathname === '/usage'
    await page.route(counts, usage(58))
    await page.goto(at('/settings/usage'))
    const today = page.locator('section', { hasText: 'Recipients today' })
    await today.getByText('of 100').waitFor()
    await today.getByText(/42 left · resets in /).waitFor()
    await page.getByRole('meter', { name: 'Recipients this month' }).waitFor()
    await sound(page, 'usage-plan')
    await page.unroute(counts)
    await page.route(counts, usage(100))
    await page.reload()
    await today.getByText(/Limit reached: new emails are refused/).waitFor()
    await page.unroute(counts)
  })
}
