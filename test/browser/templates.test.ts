import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { addMember, givePassword, type Person } from './people.ts'
import { picture } from './sound.ts'

/** Tests the template pages in a real browser, on a real appliance. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
const open = (tab: string) =>
  page.getByRole('navigation', { name: 'Template' }).getByRole('link', { name: tab }).click()
const toast = (text: string) => page.getByText(text, { exact: true }).waitFor()
const stored = async () => (await posthaste.call<Record<string, unknown>>('GET', '/templates/order')).body
const status = (word: string) => page.locator('.page-title').getByText(word, { exact: true }).waitFor()

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at('/templates'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('creates a template and edits its content', async () => {
  await page.getByRole('heading', { name: 'No templates yet' }).waitFor()
  await page.getByRole('link', { name: 'Create your first template' }).click()
  await field('Name').fill('Order')
  await press('Start with code')
  await press('Create template')
  await status('draft')
  await field('Alias').fill('order')
  await page.getByRole('combobox', { name: 'From' }).fill(`Acme <hello@${posthaste.domain}>`)
  await field('Subject').fill('Order {{{NUMBER}}}')
  await field('HTML').fill('<p>Hi {{{contact.first_name|you}}}: {{{ITEM}}')
  await press('Save draft')
  await page.getByRole('alert').filter({ hasText: 'the tag that starts with `{{{ITEM}}`' }).waitFor()
  await field('HTML').fill('<p>Hi {{{contact.first_name|you}}}: {{{ITEM}}}</p>')
  await press('Save draft')
  await toast('Draft saved.')
  expect(await stored()).toMatchObject({
    name: 'Order',
    alias: 'order',
    subject: 'Order {{{NUMBER}}}',
    text: null,
    html: '<p>Hi {{{contact.first_name|you}}}: {{{ITEM}}}</p>',
  })
})

test('declares variables used in the content, with a type and a fallback', async () => {
  await open('Variables')
  await press('NUMBER')
  await press('ITEM')
  const number = page.getByRole('group', { name: 'Variable NUMBER' })
  await number.getByLabel('Type').selectOption('number')
  await number.getByLabel('Fallback').fill('many')
  await page.getByRole('group', { name: 'Variable ITEM' }).getByLabel('Fallback').fill('Tea')
  await press('Save variables')
  await page.getByRole('alert').filter({ hasText: 'a number of at most 2^53 - 1' }).waitFor()
  await number.getByLabel('Fallback').fill('')
  await press('Save variables')
  await toast('Variables saved.')
  expect(await stored()).toMatchObject({
    variables: [
      { key: 'NUMBER', type: 'number', fallback_value: null },
      { key: 'ITEM', type: 'string', fallback_value: 'Tea' },
    ],
  })
})

test('the preview fills in samples, and also shows the plain text', async () => {
  await open('Preview')
  await page.getByText('Order [NUMBER]', { exact: true }).waitFor()
  await page.frameLocator('iframe').getByText('Hi Ada: Tea').waitFor()
  await press('Plain text')
  await page.getByText('Posthaste generates the plain text').waitFor()
  await press('HTML')
})

test('sends the draft as a test, with values', async () => {
  await page.getByRole('link', { name: 'Send test' }).click()
  await field('To').fill('ada@customer.test')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Send test' }).click()
  await page.getByRole('alert').filter({ hasText: 'Missing value for the variable `NUMBER`' }).waitFor()
  await field('NUMBER').fill('7')
  await dialog.getByRole('button', { name: 'Send test' }).click()
  await toast('Test sent to ada@customer.test.')
  const emails = await posthaste.call<{ data: { subject: string }[] }>('GET', '/emails')
  expect(emails.body.data[0]!.subject).toBe('[Test] Order 7')
})

test('publishes, changes and restores a template', async () => {
  await press('Publish template')
  await status('published')
  await open('Content')
  await field('Subject').fill('Changed')
  await press('Save draft')
  await status('published, with changes')
  await open('Versions')
  const rows = page.locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(2)
  await rows.nth(1).getByRole('link').click()
  await page.getByRole('dialog').getByText('Order [NUMBER]', { exact: true }).waitFor()
  await press('Restore as draft')
  await toast('Version restored. It’s the draft now.')
  expect(await stored()).toMatchObject({ subject: 'Order {{{NUMBER}}}', has_unpublished_versions: true })
})

test('shows what publishing would change: by field, side by side and as source', async () => {
  const { html } = await stored()
  const change = { subject: 'Your order {{{NUMBER}}}', html: `${html as string}<p>Thank you</p>` }
  expect((await posthaste.call('PATCH', '/templates/order', change)).status).toBe(200)
  await page.reload()
  await page.getByRole('link', { name: 'Review changes' }).click()
  const fields = page.getByRole('table', { name: 'Changed fields' }).locator('tbody tr')
  await expect
    .poll(() => fields.allInnerTexts())
    .toEqual([expect.stringMatching(/Subject\s+Order \{\{\{NUMBER\}\}\}\s+Your order/) as string])
  await page.getByRole('region', { name: 'Published' }).getByText('Order [NUMBER]', { exact: true }).waitFor()
  await page.getByRole('region', { name: 'Draft' }).getByText('Your order [NUMBER]').waitFor()
  await page.getByRole('group', { name: 'Changes to the HTML' }).getByText('+ <p>Thank you</p>').waitFor()
  await picture(page, 'template-changes')
  await press('Publish changes')
  await status('published')
  await expect.poll(() => page.getByRole('link', { name: 'Changes' }).count()).toBe(0)
})

test('duplicates, finds and deletes a template', async () => {
  await press('Duplicate template')
  await page.getByRole('heading', { name: 'Order (copy)' }).waitFor()
  await page.goto(at('/templates'))
  await page.getByRole('searchbox').fill('copy')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['Order (copy)'])
  await page.locator('a[data-row]').click()
  await page.getByRole('link', { name: 'Delete template' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete template' }).click()
  await toast('Template deleted.')
  await expect.poll(() => page.locator('a[data-row]').allInnerTexts()).toEqual(['Order'])
})

test('creates, edits, enables and runs an automation', async () => {
  await page.getByRole('link', { name: 'Automations', exact: true }).click()
  await page.getByRole('link', { name: 'Create your first automation' }).click()
  await field('Name').fill('Welcome')
  await field('Trigger event').fill('user.created')
  await press('Create automation')
  const tabs = page.getByRole('navigation', { name: 'Automation', exact: true })
  await tabs.getByRole('link', { name: 'Edit as JSON' }).click()
  await status('disabled')
  const update = { key: 'name', type: 'contact_update', config: { first_name: 7 } }
  const trigger = { key: 'start', type: 'trigger', config: { event_name: 'user.created' } }
  await field('Steps').fill(JSON.stringify([trigger, update]))
  await field('Connections').fill('[{ "from": "start", "to": "name" }]')
  await press('Save automation')
  await page.getByRole('alert').filter({ hasText: 'steps[1].config.first_name' }).waitFor()
  update.config.first_name = { var: 'event.name' } as never
  await field('Steps').fill(JSON.stringify([trigger, update]))
  await press('Save automation')
  await toast('Automation saved. Runs that already began keep their steps.')
  await tabs.getByRole('link', { name: 'Steps' }).click()
  await page.getByText('Sets first name to event.name.', { exact: true }).waitFor()
  await press('Enable automation')
  await status('enabled')
  const sent = { event: 'user.created', email: 'ada@customer.test', payload: { name: 'Ada' } }
  expect((await posthaste.call('POST', '/events/send', sent)).status).toBe(202)
  const id = /automations\/([0-9a-f-]{36})/.exec(page.url())![1]!
  const runs = async () =>
    (await posthaste.call<{ data: { status: string }[] }>('GET', `/automations/${id}/runs`)).body.data
  await expect.poll(async () => (await runs()).map((run) => run.status)).toEqual(['completed'])
  await tabs.getByRole('link', { name: 'Runs' }).click()
  await page.locator('a[data-row]').click()
  await status('completed')
  await page.getByRole('link', { name: 'ada@customer.test' }).waitFor()
  await page.getByText('Update contact', { exact: true }).waitFor()
})

/** Returns the first line of the focused control's name. */
const focused = () =>
  page.evaluate<string>(`(({ ariaLabel, labels, innerText }) =>
    (ariaLabel ?? labels?.[0]?.innerText ?? innerText).trim().split('\\n', 1)[0])(document.activeElement)`)
/** Presses Tab until a control has the focus. */
async function tabTo(name: string): Promise<void> {
  await expect
    .poll(async () => {
      const there = (await focused()) === name
      if (!there) await page.keyboard.press('Tab')
      return there
    })
    .toBe(true)
}
async function enter(name: string): Promise<void> {
  await tabTo(name)
  await page.keyboard.press('Enter')
}
/** Adds a step by the keyboard alone. Waits for a field of its form. */
async function addStep(where: string, kind: string, field: string): Promise<void> {
  await enter(`Add step after ${where}`)
  await page.getByRole('dialog', { name: 'Add step' }).waitFor()
  await enter(kind)
  await page.getByRole('dialog', { name: kind }).getByLabel(field, { exact: true }).waitFor()
  await tabTo(field)
}
const savedAutomation = async () => {
  const id = /automations\/([0-9a-f-]{36})/.exec(page.url())![1]!
  return (await posthaste.call<Record<string, unknown>>('GET', `/automations/${id}`)).body
}
const allSaved = () => page.getByRole('status').getByText('All changes saved', { exact: true }).waitFor()

test('builds an automation with a condition by keyboard alone', async () => {
  await page.goto(at('/automations?new=1'))
  await page.getByRole('dialog', { name: 'Create automation' }).waitFor()
  await tabTo('Name')
  await page.keyboard.type('Trial')
  await tabTo('Trigger event')
  await page.keyboard.type('trial.started')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Trial', exact: true }).waitFor()
  await addStep('start', 'Condition', 'Field of rule 1')
  await page.keyboard.type('event.plan')
  await tabTo('Value of rule 1')
  await page.keyboard.type('pro')
  await page.keyboard.press('Enter')
  await addStep('condition, if it’s met', 'Delay', 'Duration')
  await page.keyboard.press('Control+a')
  await page.keyboard.type('40 days')
  await page.keyboard.press('Enter')
  await addStep('condition, if it isn’t met', 'Update contact', 'First name')
  await page.keyboard.type('Text')
  await tabTo('Value of First name')
  await page.keyboard.type('Ada')
  await page.keyboard.press('Enter')
  await enter('Save automation')
  const step = page.locator('[data-step=delay]')
  await step.getByRole('alert').filter({ hasText: 'steps[3].config.duration' }).waitFor()
  await step.getByRole('button', { name: 'Change' }).focus()
  await page.keyboard.press('Enter')
  const duration = page.getByRole('dialog', { name: 'Delay' }).getByLabel('Duration', { exact: true })
  await duration.and(page.locator('[aria-invalid=true]')).waitFor()
  await tabTo('Duration')
  await page.keyboard.press('Control+a')
  await page.keyboard.type('2 days')
  await page.keyboard.press('Enter')
  await enter('Save automation')
  await allSaved()
  const rule = { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' }
  expect(await savedAutomation()).toMatchObject({
    steps: [
      { key: 'start', type: 'trigger', config: { event_name: 'trial.started' } },
      { key: 'condition', type: 'condition', config: rule },
      { key: 'update', type: 'contact_update', config: { first_name: 'Ada' } },
      { key: 'delay', type: 'delay', config: { duration: '2 days' } },
    ],
    connections: [
      { from: 'start', to: 'condition', type: 'default' },
      { from: 'condition', to: 'delay', type: 'condition_met' },
      { from: 'condition', to: 'update', type: 'condition_not_met' },
    ],
  })
})

test('removes, restores and moves a step, and keeps unsaved changes', async () => {
  const delay = page.getByRole('group', { name: 'Delay delay', exact: true })
  await delay.getByRole('button', { name: 'Remove' }).click()
  await delay.waitFor({ state: 'detached' })
  await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
  await delay.getByRole('button', { name: 'Move down' }).click()
  const unmet = page.getByRole('group', { name: 'If it isn’t met, after condition' })
  await unmet.getByRole('group', { name: 'Delay delay', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Steps', exact: true }).click()
  await press('Continue editing')
  await unmet.getByRole('group', { name: 'Delay delay', exact: true }).waitFor()
})

test('does not overwrite another user’s changes without asking', async () => {
  const { id, steps } = await savedAutomation()
  const other = { steps: (steps as object[]).slice(0, 1), connections: [] }
  expect((await posthaste.call('PATCH', `/automations/${String(id)}`, other)).status).toBe(200)
  await press('Save automation')
  await page.getByRole('heading', { name: 'Somebody else changed this automation' }).waitFor()
  await press('Overwrite with mine')
  await allSaved()
  expect(await savedAutomation()).toMatchObject({
    connections: [
      { from: 'start', to: 'condition' },
      { from: 'condition', to: 'delay', type: 'condition_not_met' },
      { from: 'delay', to: 'update' },
    ],
  })
})

test('defines an event with a schema, and sends it as a test', async () => {
  await page.goto(at('/automations'))
  await page.getByRole('navigation', { name: 'Automations and events' }).getByText('Events').click()
  await page.getByRole('link', { name: 'Create your first event' }).click()
  await field('Name').fill('order.paid')
  await field('Values').fill('total: amount')
  await press('Create event')
  await page.getByRole('alert').filter({ hasText: 'one of string, number, boolean, date' }).waitFor()
  await field('Values').fill('total: number')
  await press('Create event')
  await page.getByRole('heading', { name: 'order.paid' }).waitFor()
  await page.getByRole('link', { name: 'Send test event' }).click()
  await field('Email address').fill('ada@customer.test')
  await field('Payload').fill('{ "total": "much" }')
  await press('Send event')
  await page.getByRole('alert').filter({ hasText: 'payload.total' }).waitFor()
  await field('Payload').fill('{ "total": 7 }')
  await press('Send event')
  await toast('Event order.paid sent.')
  await page.getByText('{"total":7}', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Delete event' }).click()
  await field('Type order.paid to confirm').fill('order.paid')
  await press('Delete event')
  await toast('Event deleted.')
})

test('a viewer sees templates, but no way to change them', async () => {
  const person: Person = { email: 'viewer@people.example', password: 'viewers walk along the quiet quay' }
  await addMember(posthaste, 'viewer', person)
  const other = await openPage(browser)
  await other.page.goto(at('/templates'))
  await givePassword(other.page, person)
  await other.page.getByText('Only developers and above can create templates.').waitFor()
  await other.page.locator('a[data-row]').click()
  await other.page.getByText('Only developers and above can change templates.').waitFor()
  expect(await other.page.getByRole('button', { name: 'Publish template' }).count()).toBe(0)
  expect(other.errors).toEqual([])
  expect(desk.errors).toEqual([])
})

test('tests an automation without waits and emails, and retries a failed run', async () => {
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: 'user.joined' } },
    { key: 'paid', type: 'wait_for_event', config: { event_name: 'order.paid', timeout: '3 days' } },
    { key: 'name', type: 'contact_update', config: { first_name: { var: 'wait_events.order.paid.name' } } },
  ]
  const connections = [
    { from: 'start', to: 'paid' },
    { from: 'paid', to: 'name', type: 'event_received' },
  ]
  const made = await posthaste.call<{ id: string }>('POST', '/automations', {
    name: 'Paid',
    status: 'enabled',
    steps,
    connections,
  })
  expect(made.status).toBe(201)
  await page.goto(at(`/automations/${made.body.id}?tab=test`))
  await press('Test run')
  await page.getByText('contact_id', { exact: false }).first().waitFor()
  await field('Email address').fill('grace@customer.test')
  await press('Test run')
  await page.getByText('after 3 d', { exact: false }).waitFor()
  await page.getByText('The event didn’t arrive in time.', { exact: true }).waitFor()
  await page.getByLabel('order.paid arrives').check()
  await field('How long after the start').fill('2 days')
  const payload = { name: 'x'.repeat(3000) }
  await field('Payload of order.paid').fill(JSON.stringify(payload))
  await press('Test run')
  await page.getByText('The event order.paid arrived.', { exact: true }).waitFor()
  // A contact can't have such a name, so the step fails, as it does in a real run.
  const why = page.getByText('Invalid `first_name`', { exact: false })
  await why.waitFor()
  expect((await posthaste.call('GET', '/contacts/grace@customer.test')).status).toBe(404)

  const event = { event: 'user.joined', email: 'grace@customer.test' }
  expect((await posthaste.call('POST', '/events/send', event)).status).toBe(202)
  const runs = async (status: string) =>
    (
      await posthaste.call<{ data: { id: string }[] }>(
        'GET',
        `/automations/${made.body.id}/runs?status=${status}`,
      )
    ).body.data
  await expect.poll(async () => (await runs('running')).length).toBe(1)
  expect(
    (await posthaste.call('POST', '/events/send', { ...event, event: 'order.paid', payload })).status,
  ).toBe(202)
  await expect.poll(async () => (await runs('failed')).length).toBe(1)
  const [run] = await runs('failed')
  await page.goto(at(`/automations/${made.body.id}/runs/${run!.id}`))
  await status('failed')
  await why.waitFor()
  await press('Retry the failed step')
  await toast('The run continues.')
  await expect.poll(async () => (await runs('failed')).length).toBe(1)
})
