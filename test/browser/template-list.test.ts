import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { givePassword } from './people.ts'

/** Tests what the dashboard shows of templates besides their editor, in a real browser. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
async function made(path: string, body: object): Promise<string> {
  const { status, body: answer } = await posthaste.call<{ id: string }>('POST', path, body)
  expect([status, answer]).toMatchObject([201, {}])
  return answer.id
}

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at('/templates'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
  await page.getByRole('heading', { name: 'No templates yet' }).waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('example code for a template contains its alias and all its variables', async () => {
  const id = await made('/templates', {
    name: 'Order',
    alias: 'order',
    html: '<p>{{{ITEM}}} {{{EXTRA}}}</p>',
    variables: [{ key: 'ITEM', type: 'string', fallback_value: 'Tea' }],
  })
  await page.goto(at(`/templates/${id}?tab=send`))
  await page.getByText('Publish the template before you send it').waitFor()
  await press('curl')
  const code = (text: string) => page.locator('pre', { hasText: text }).waitFor()
  for (const part of ['"id": "order"', '"ITEM": "Tea"', '"EXTRA": "[EXTRA]"', posthaste.domain])
    await code(part)
  await press('Python')
  await code('resend.Emails.send({')
  await page.getByRole('button', { name: 'Copy the example' }).waitFor()
  await press('curl')
  await posthaste.call('POST', '/templates/order/publish')
  await page.reload()
  await page.getByText('Sends the published version.').waitFor()
  expect(desk.errors).toEqual([])
})

test('the list shows a thumbnail of each template, which loads and runs nothing', async () => {
  const asked: string[] = []
  page.on('request', (request) => void asked.push(request.url()))
  await made('/templates', {
    name: 'Hostile',
    html:
      '<p>Rendered {{{WORD}}}</p><img src="https://evil.test/pixel.png"><script>parent.hit = 1</script>' +
      '<img src="x" onerror="parent.hit = 1"><meta http-equiv="refresh" content="0;url=https://evil.test/">',
    variables: [{ key: 'WORD', type: 'string', fallback_value: 'here' }],
  })
  await page.goto(at('/templates'))
  const row = page.locator('tr', { hasText: 'Hostile' })
  await row.frameLocator('iframe').getByText('Rendered here').waitFor()
  const frame = row.locator('iframe')
  expect(await frame.getAttribute('sandbox')).toBe('')
  expect(await row.locator('.thumb').getAttribute('inert')).not.toBeNull()
  expect(await page.evaluate('window.hit')).toBeUndefined()
  expect(asked.filter((url) => url.includes('evil.test'))).toEqual([])
  // The frame's sandbox and policy blocked what was left of it.
  for (const error of desk.errors.splice(0)) expect(error).toMatch(/ violates |^Blocked script execution/)
  // The list is read again, the templates are not.
  const reads = () => asked.filter((url) => /\/templates\/[0-9a-f-]{36}$/.test(new URL(url).pathname)).length
  const before = reads()
  await page.getByRole('searchbox').fill('Hostile')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['Hostile'])
  await row.frameLocator('iframe').getByText('Rendered here').waitFor()
  expect(reads()).toBe(before)
})

test('the list shows where each template is used', async () => {
  await made('/segments', { name: 'Readers' })
  await posthaste.call('POST', '/templates/order/publish')
  const from = `hello@${posthaste.domain}`
  const email = { from, to: 'ada@customer.test', subject: 'Hi' }
  const template = { id: 'order', variables: { EXTRA: 'x' } }
  expect((await posthaste.call('POST', '/emails', { ...email, template })).status).toBe(200)
  await page.goto(at('/broadcasts?new=1'))
  await page.getByRole('textbox', { name: 'Subject', exact: true }).fill('From a template')
  await page.locator('select[name=segment]').selectOption({ label: 'Readers (0 contacts)' })
  await page.locator('select[name=template]').selectOption({ label: 'Template: Order' })
  await press('Create broadcast')
  await page.getByRole('heading', { name: 'From a template' }).waitFor()
  await page.goto(at('/templates'))
  const uses = (name: string) => page.locator('tr', { hasText: name }).locator('.uses').innerText()
  await expect.poll(() => uses('Order')).toMatch(/^1 email in 30 days\s+1 draft$/)
  expect(await uses('Hostile')).toBe('Not used')
  for (const error of desk.errors.splice(0)) expect(error).toMatch(/ violates |^Blocked script execution/)
})
