import { describe, expect, test } from 'vitest'
import type { Domain } from '../../appliance/api/domains.ts'
import type { Stage } from './stage.ts'

/** Registers tests of the pages with domains and their DNS records. */
export function domainsPage(stage: Stage): void {
  describe('domains', () => domains(stage))
}

function domains(stage: Stage): void {
  test('the tooltip in a row works although the row is a link, and clicking it opens the row', async () => {
    const { page, at, posthaste } = stage
    await page.goto(at('/domains'))
    const line = page.getByRole('row', { name: posthaste.domain })
    const path = await line.getByRole('link').getAttribute('href')
    const time = line.locator('time')
    expect(await time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d .+\)$/)
    const tab = page.context().waitForEvent('page')
    await time.click({ modifiers: ['Control'] })
    await expect.poll(async () => new URL((await tab).url()).pathname).toBe(path)
    await (await tab).close()
    expect(new URL(page.url()).pathname).toBe('/dashboard/domains')
    await time.click()
    await expect.poll(() => new URL(page.url()).pathname).toBe(path)
  })

  test('a domain shows its DNS records, copies them, and checks them on request', async () => {
    const { page, at, posthaste } = stage
    await page.goto(at('/domains'))
    const lights = page.getByRole('row', { name: posthaste.domain }).locator('td.lights [data-tone]')
    await expect
      .poll(async () => Promise.all((await lights.all()).map((one) => one.getAttribute('aria-label'))))
      .toEqual([
        'SPF: in place',
        'DKIM: in place',
        'DMARC: in place',
        'MTA-STS: not found',
        'TLS-RPT: not found',
        'BIMI: not found',
        'PTR: not checked',
      ])
    await page.getByRole('link', { name: posthaste.domain, exact: true }).click()
    await page.getByRole('listitem').filter({ hasText: '_mta-sts' }).getByText('not found').waitFor()
    const ptr = page.getByRole('listitem').filter({ hasText: 'PTR' })
    // A sandbox's addresses are not public.
    await ptr.getByText('This machine has no public address').waitFor()
    await expect
      .poll(() => ptr.getByRole('link', { name: 'See IPs' }).getAttribute('href'))
      .toBe('/dashboard/sources')
    const { data } = (await posthaste.call('GET', '/domains')).body as { data: { id: string }[] }
    const { body } = await posthaste.call<Domain>('GET', `/domains/${data[0]!.id}`)
    const records = [...body.records, ...body.recommended_records]
    await page.getByText(records[0]!.value).first().waitFor()

    const { record, type, value } = records[0]!
    await page
      .getByRole('button', { name: `Copy value of ${record} ${type}`, exact: true })
      .first()
      .click()
    await page.getByText('Copied').first().waitFor()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(value)

    await page.getByRole('button', { name: 'Copy all' }).click()
    const zone = () => page.evaluate<string>('navigator.clipboard.readText()')
    await expect.poll(async () => (await zone()).trimEnd().split('\n').length).toBe(records.length)
    for (const { fqdn } of records) expect(await zone()).toContain(`${fqdn}. 3600 IN `)

    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText(/^Checked (now|\d+ s ago)/).waitFor()
  })
}
