import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { png } from '../unit/images/samples.ts'
import { BLOCK_SAMPLES } from '../unit/document/samples.ts'
import { launch, openPage, still, type Watched } from './browser.ts'
import { canvas as canvasOn, caretToEnd } from './canvas.ts'
import { givePassword } from './people.ts'

/** Tests the document editor in a real browser, on a real appliance. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page

interface Block {
  type: string
  attrs?: Record<string, unknown>
  content?: Block[]
  text?: string
}
interface Stored {
  id: string
  html: string
  text: string
  revision: number
  document: { content: Block[]; preheader: string; theme: { accent: string; width: number } } | null
}

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const button = (name: string, on: Page = page) => on.getByRole('button', { name, exact: true })
const press = (name: string) => button(name).click()
const canvas = (on: Page = page) => canvasOn(on)
const saved = (on: Page = page) => on.getByText('All changes saved', { exact: true }).waitFor()
const field = (name: string) => page.getByRole('textbox', { name, exact: true })
const stored = async (id: string) => (await posthaste.call<Stored>('GET', `/templates/${id}`)).body
const text = (words: string): Block => ({ type: 'text', text: words })
const paragraph = (...content: Block[]): Block => ({ type: 'paragraph', content })
const types = async (id: string) => (await stored(id)).document?.content.map(({ type }) => type)

/** Creates a template of blocks and opens it in the editor. */
async function openNew(content: Block[] = [paragraph()], on: Page = page): Promise<string> {
  const body = { name: 'News', document: { version: 1, content } }
  const { id } = (await posthaste.call<{ id: string }>('POST', '/templates', body)).body
  await on.goto(at(`/templates/${id}?tab=code`))
  await canvas(on).waitFor()
  return id
}
/** Waits until the stored template matches. */
const until = (id: string, look: (found: Stored) => unknown) =>
  expect.poll(async () => look(await stored(id)))
const toEnd = () => caretToEnd(page)
async function slash(words: string) {
  await page.keyboard.type(`/${words}`)
  await page.getByRole('listbox', { name: 'Blocks' }).waitFor()
  await page.keyboard.press('Enter')
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

test('loads the editor only on pages that use it', async () => {
  const loaded: string[] = []
  const note = (answer: { url(): string }) => void loaded.push(new URL(answer.url()).pathname)
  const isEditor = () => loaded.some((path) => path.includes('/DocumentEditor-'))
  page.on('response', note)
  for (const [path, heading] of [
    ['/emails', 'Emails'],
    ['/audience/contacts', 'Audience'],
    ['/templates', 'Templates'],
    ['/broadcasts', 'Broadcasts'],
  ] as const) {
    await page.goto(at(path))
    await page.getByRole('heading', { name: heading, exact: true }).waitFor()
  }
  expect([loaded.length > 0, isEditor()]).toEqual([true, false])
  await openNew()
  expect(isEditor()).toBe(true)
  page.off('response', note)
})

test('a new template opens in the block editor and saves automatically', async () => {
  await page.goto(at('/templates?new=1'))
  await field('Name').fill('Welcome')
  await press('Create template')
  await canvas().waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  await toEnd()
  await page.keyboard.type('# Second')
  await page.keyboard.press('Enter')
  await page.keyboard.type('Some ')
  await page.keyboard.press('Control+b')
  await page.keyboard.type('bold')
  await until(id, ({ html }) => html.includes('<strong>bold</strong>')).toBe(true)
  await saved()
  await field('Preview text').fill('What is new')
  await until(id, ({ document }) => document?.preheader).toBe('What is new')
  expect(await types(id)).toEqual(['heading', 'paragraph', 'heading', 'paragraph'])
})

test('inserts blocks, lists and buttons by keyboard alone, with undo across saves', async () => {
  const id = await openNew()
  await toEnd()
  await slash('bullet')
  await page.keyboard.type('One')
  await page.keyboard.press('Enter')
  await page.keyboard.type('Two')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await slash('but')
  await page.keyboard.type('Go')
  await until(id, ({ document }) => document?.content.map(({ type }) => type)).toEqual([
    'bulletList',
    'button',
  ])
  const link = page.getByRole('region', { name: 'Button settings' }).getByLabel('Link')
  await link.fill('javascript:alert(1)')
  await link.press('Tab')
  await page.getByRole('alert').filter({ hasText: 'Expected an `https://`' }).waitFor()
  await link.fill('https://example.com/start')
  await link.press('Tab')
  await until(id, ({ html }) => html.includes('href="https://example.com/start"')).toBe(true)
  expect((await stored(id)).html).not.toContain('javascript')
  await canvas().focus()
  for (let n = 0; n < 12; n++) await page.keyboard.press('Control+z')
  await until(id, ({ document }) => document?.content).toEqual([
    { type: 'paragraph', attrs: { align: 'left' } },
  ])
  await page.keyboard.press('Control+Shift+z')
  await until(id, ({ document }) => document?.content.length).not.toBe(0)
})

test('uploads an image, asks for its alternative text, and shows it in the preview', async () => {
  const id = await openNew([paragraph(text('Look'))])
  await toEnd()
  await press('Insert block')
  await page.getByRole('group', { name: 'Blocks to insert' }).getByRole('button', { name: 'Image' }).click()
  const settings = page.getByRole('region', { name: 'Image settings' })
  const file = { name: 'a.png', mimeType: 'image/png', buffer: png(40, 20) }
  await settings.getByLabel('Image', { exact: true }).setInputFiles(file)
  await canvas().getByText('No alternative text').waitFor()
  await settings.getByLabel('Alternative text').fill('A small picture')
  await settings.getByLabel('Alternative text').press('Tab')
  await until(id, ({ html }) =>
    /<img src="[^"]+\/i\/[0-9a-f]{64}\.png" alt="A small picture"/.test(html),
  ).toBe(true)
  await press('Preview')
  const image = page.frameLocator('iframe').getByAltText('A small picture')
  await expect.poll(() => image.getAttribute('src')).toMatch(/^data:image\/png;base64,/)
  await press('Images off')
  await expect.poll(() => image.getAttribute('src')).toBeNull()
  await press('Plain text')
  await page.getByText('[A small picture]').waitFor()
})

test('pasted and dropped images become blocks, and other files are ignored', async () => {
  const id = await openNew([paragraph(text('Look'))])
  await toEnd()
  /** Gives the editor a file, like a clipboard or a file manager does. */
  const give = (how: 'paste' | 'drop', name: string, type: string) =>
    page.evaluate(`{
      const bytes = Uint8Array.from(atob('${png(40, 20).toString('base64')}'), (one) => one.charCodeAt(0))
      const data = new DataTransfer()
      data.items.add(new File([bytes], '${name}', { type: '${type}' }))
      const canvas = document.querySelector('.canvas')
      const { left, top } = canvas.querySelector('p').getBoundingClientRect()
      const how = { bubbles: true, cancelable: true, clientX: left + 5, clientY: top + 5 }
      canvas.dispatchEvent(
        '${how}' === 'paste'
          ? new ClipboardEvent('paste', { ...how, clipboardData: data })
          : new DragEvent('drop', { ...how, dataTransfer: data }))
    }`)
  const images = async () => (await types(id))?.filter((type) => type === 'image').length
  await give('paste', 'notes.txt', 'text/plain')
  await give('paste', 'a.png', 'image/png')
  await expect.poll(images).toBe(1)
  await give('drop', 'b.png', 'image/png')
  await expect.poll(images).toBe(2)
  const { html } = await stored(id)
  expect(html.match(/<img src="[^"]+\/i\/[0-9a-f]{64}\.png"/g)).toHaveLength(2)
})

test('inserts variables with a fallback, and previews as a contact with a hostile name', async () => {
  const property = { key: 'plan', type: 'string', fallback_value: 'free' }
  expect((await posthaste.call('POST', '/contact-properties', property)).status).toBe(201)
  const contact = {
    email: 'eve@customer.example',
    first_name: '<img src=x onerror=alert(1)>',
    properties: { plan: 'gold' },
  }
  expect((await posthaste.call('POST', '/contacts', contact)).status).toBe(201)
  const id = await openNew([paragraph(text('Hi '))])
  await toEnd()
  await press('Insert variable')
  await page.getByLabel('Fallback').fill('a|b')
  await press('Insert')
  await page.getByRole('alert').filter({ hasText: 'A fallback can’t contain' }).waitFor()
  await page.getByLabel('Fallback').fill('friend')
  await press('Insert')
  await until(id, ({ text }) => text).toBe('Hi {{{contact.first_name|friend}}}')
  await press('Insert variable')
  await page.getByLabel('Variable').selectOption({ label: 'plan (contact property)' })
  await press('Insert')
  await until(id, ({ text }) => text).toBe('Hi {{{contact.first_name|friend}}}{{{contact.properties.plan}}}')
  await press('Preview')
  const frame = page.frameLocator('iframe')
  await frame.getByText('Hi Adafree').waitFor()
  await page.getByLabel('Preview as contact').fill('eve@customer.example')
  await press('Show')
  await frame.getByText('Hi <img src=x onerror=alert(1)>gold').waitFor()
  expect(await frame.locator('img').count()).toBe(0)
})

test('pasted HTML keeps only its structure', async () => {
  const id = await openNew()
  await toEnd()
  const hostile = `<style>p{color:red}</style><script>window.hacked = 1</script>
    <h2 onclick="hacked()" style="position:fixed" class="x">Title</h2>
    <p><a href="javascript:alert(1)" target="_blank">bad</a> <a href="https://example.com/" rel="x" class="y">good</a></p>
    <img src="data:text/html,x" onerror="window.hacked = 1"><iframe src="https://evil.example"></iframe>
    <div data-block="button" data-href='"javascript:alert(1)"'>Push</div><form><input name="a"></form>`
  await page.evaluate(`{
    const data = new DataTransfer()
    data.setData('text/html', ${JSON.stringify(hostile)})
    document.querySelector('.canvas').dispatchEvent(
      new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  }`)
  await until(id, ({ text }) => text).toContain('Push')
  const { document, html } = await stored(id)
  const left = { align: 'left' }
  expect(document?.content.slice(0, 2)).toEqual([
    { type: 'heading', attrs: { level: 2, ...left }, content: [{ type: 'text', text: 'Title' }] },
    {
      type: 'paragraph',
      attrs: left,
      content: [
        { type: 'text', text: 'bad ' },
        {
          type: 'text',
          text: 'good',
          marks: [{ type: 'link', attrs: { href: 'https://example.com/' } }],
        },
      ],
    },
  ])
  expect(html).not.toMatch(/javascript|onerror|onclick|<script|iframe|target=|position:fixed/)
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  // The page's policy blocked content of the clipboard, not of the editor.
  for (const error of desk.errors.splice(0))
    expect(error).toMatch(/^Executing inline event handler violates .* The action has been blocked\.$/)
})

test('does not overwrite a newer version of another user', async () => {
  const id = await openNew([paragraph(text('Mine'))])
  const theirs = { document: { version: 1, content: [paragraph(text('Theirs'))] } }
  expect((await posthaste.call('PATCH', `/templates/${id}`, theirs)).status).toBe(200)
  await toEnd()
  await page.keyboard.type(' and more')
  await page.getByRole('alert').filter({ hasText: 'Somebody else changed this draft' }).waitFor()
  expect((await stored(id)).text).toBe('Theirs')
  await press('Load their version')
  await canvas().getByText('Theirs').waitFor()
  await toEnd()
  await page.keyboard.type(' and mine')
  await until(id, ({ text }) => text).toBe('Theirs and mine')
})

test('changes the theme, and switches to code', async () => {
  const id = await openNew([paragraph(text('Hello'))])
  await press('Theme')
  await page.getByLabel('Buttons', { exact: true }).fill('#aa0033')
  await page.getByLabel('Width (px)').fill('640')
  await page.getByLabel('Width (px)').press('Tab')
  await until(id, ({ document }) => document?.theme).toMatchObject({ accent: '#aa0033', width: 640 })
  await saved()
  await press('Switch to code')
  await page.getByRole('dialog').getByRole('button', { name: 'Switch to code' }).click()
  await page.getByLabel('HTML', { exact: true }).waitFor()
  expect((await stored(id)).document).toBeNull()
})

test('edits blocks on a phone', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  const id = await openNew()
  await toEnd()
  await slash('sect')
  await page.keyboard.type('Inside')
  await until(id, ({ document }) => document?.content[0]?.type).toBe('section')
  const wide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  expect(await page.evaluate(wide)).toBe(0)
  await page.setViewportSize({ width: 1280, height: 800 })
})

/** axe-core's serious and critical findings, one per line. */
const AXE = `axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .flatMap(({ id, nodes }) => nodes.map(({ html, target }) => id + ' ' + target + ' ' + html.slice(0, 160))))`

test('stores all blocks unchanged, and axe reports no serious problem in any view', async () => {
  const { footer, ...others } = BLOCK_SAMPLES
  const blocks = Object.entries(others).filter(([name]) => name !== 'footer without a link')
  const id = await openNew([...blocks.map(([, block]) => block), footer!] as Block[])
  const before = (await stored(id)).document
  await toEnd()
  await page.keyboard.type('!')
  await until(id, ({ text }) => text.includes('1 Main Street!')).toBe(true)
  await page.keyboard.press('Backspace')
  await until(id, ({ text }) => text.includes('1 Main Street!')).toBe(false)
  expect((await stored(id)).document).toEqual(before)
  await page.evaluate(axe.source)
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of ['light', 'dark'] as const)
      for (const view of ['Edit', 'Theme', 'Preview']) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await press(view)
        await still(page)
        const found = await page.evaluate<string[]>(AXE)
        expect({ width, colorScheme, view, found }).toEqual({ width, colorScheme, view, found: [] })
      }
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.emulateMedia({ colorScheme: 'light' })
})

test('a broadcast uses the same editor, and can switch to code', async () => {
  const { id: segment } = (await posthaste.call<{ id: string }>('POST', '/segments', { name: 'All' })).body
  await page.goto(at('/broadcasts?new=1'))
  await field('Subject').fill('News')
  await page.locator('select[name=segment]').selectOption(segment)
  await field('From').fill(`Acme <news@${posthaste.domain}>`)
  await page.locator('select[name=template]').selectOption('blocks')
  await press('Create broadcast')
  await canvas().waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const read = async () => (await posthaste.call<Stored>('GET', `/broadcasts/${id}`)).body
  await toEnd()
  await page.keyboard.type('!')
  await expect.poll(async () => (await read()).text).toContain('your postal address!\nUnsubscribe: ')
  await press('Switch to code')
  await page.getByRole('dialog').getByRole('button', { name: 'Switch to code' }).click()
  await expect.poll(async () => (await read()).document).toBeNull()
  expect((await read()).html).toContain('your postal address!')
})

test('the page caused no error and violated no content security policy', () => {
  expect(desk.errors).toEqual([])
})
