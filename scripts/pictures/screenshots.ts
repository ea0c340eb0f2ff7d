/** Takes screenshots of every page: desktop and phone, light and dark. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { chromium, type Browser, type Page } from 'playwright-core'
import { allViews, settled, signIn, type View } from '../../test/browser/all-pages.ts'
import { buildDashboard } from '../../test/browser/build.ts'
import { startSeeded, type Seeded } from '../../test/world/seeded.ts'
import { compressPng } from './png.ts'

const { values } = parseArgs({
  options: {
    to: { type: 'string', default: fileURLToPath(new URL('../../docs/screenshots', import.meta.url)) },
    days: { type: 'string', default: '21' },
    /** Number of emails per day. */
    emails: { type: 'string', default: '130' },
    /**
     * Takes only screenshots of views whose names start with one of these comma-separated prefixes. Other screenshots
     * are kept.
     */
    only: { type: 'string', default: '' },
  },
})

const wanted = (name: string) => values.only.split(',').some((begin) => name.startsWith(begin))

const FROM_TESTS = /^(setup|second-step|recovery-codes|account-factors|invitation-join)/
const WIDTHS = [
  [1440, 900],
  [390, 844],
] as const
/** Time until relative times and dashed chart lines settle, in milliseconds. */
const STILL_MS = 150

/** Takes the screenshots of one view. */
async function take(page: Page, seeded: Seeded, { name, path, act }: View): Promise<number> {
  let bytes = 0
  for (const [width, height] of WIDTHS) {
    await page.setViewportSize({ width, height })
    await page.goto('about:blank')
    await page.goto(`${seeded.posthaste.url}/dashboard${path}`)
    await settled(page)
    await act?.(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.waitForTimeout(STILL_MS)
      const picture = compressPng(await page.screenshot())
      await writeFile(join(values.to, `${name}-${width}-${colorScheme}.png`), picture)
      bytes += picture.length
    }
  }
  return bytes
}

/** Takes screenshots of the dashboard while the server doesn't respond: after it was reachable, and from the start. */
async function takeGone(browser: Browser, page: Page, seeded: Seeded): Promise<number> {
  const act = (shown: Page) => shown.getByRole('alert').first().waitFor()
  const silent = (url: URL) => !url.pathname.startsWith('/dashboard/') && url.pathname !== '/session'
  await page.route(silent, (route) => route.abort('connectionrefused'))
  const late = await take(page, seeded, { name: 'gone', path: '/domains', act })
  const other = await browser.newPage()
  await other.route('**/session', (route) => route.abort('connectionrefused'))
  return late + (await take(other, seeded, { name: 'gone-at-start', path: '/emails', act }))
}

/**
 * Takes screenshots of pages that a sandbox with an owner doesn't show. The browser tests visit these pages, and take
 * screenshots if SCREENSHOTS names a folder.
 */
async function takeFromTests(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-pictures-'))
  const tests = ['first-run', 'factors', 'invitations'].map((name) => `test/browser/${name}.test.ts`)
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  try {
    const env = { ...process.env, SCREENSHOTS: folder }
    await promisify(execFile)(process.execPath, [vitest, 'run', ...tests], { cwd, env })
    let bytes = 0
    for (const name of await readdir(folder)) {
      if (!FROM_TESTS.test(name)) continue
      const picture = compressPng(await readFile(join(folder, name)))
      await writeFile(join(values.to, name), picture)
      bytes += picture.length
    }
    return bytes
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function takeAll(browser: Browser, seeded: Seeded): Promise<void> {
  const inside = await browser.newPage()
  const outside = await browser.newPage()
  await signIn(inside, seeded)
  const views = (await allViews(inside, seeded)).filter(({ name }) => wanted(name))
  let bytes = 0
  for (const view of views) {
    bytes += await take(view.outside ? outside : inside, seeded, view)
    process.stderr.write(`${view.name}\n`)
  }
  if (wanted('gone')) bytes += await takeGone(browser, inside, seeded)
  if (wanted('setup')) bytes += await takeFromTests()
  console.log(`${views.length} views in ${values.to}, ${(bytes / 1_000_000).toFixed(1)} MB`)
}

await mkdir(values.to, { recursive: true })
if (values.only === '')
  for (const name of await readdir(values.to))
    if (/-(1440|390)-(light|dark)\.png$/.test(name)) await rm(join(values.to, name))
const dashboard = await mkdtemp(join(tmpdir(), 'posthaste-ui-'))
await buildDashboard(dashboard)
const seeded = await startSeeded({
  days: Number(values.days),
  emailsPerDay: Number(values.emails),
  dashboard,
})
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
try {
  await takeAll(browser, seeded)
} finally {
  await browser.close()
  await seeded.close()
  await rm(dashboard, { recursive: true, force: true })
}
