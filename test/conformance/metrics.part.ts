import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests emails.metrics. */
export function metricsPart(suite: () => Suite): void {
  const send = async (): Promise<string> => {
    const { client, from, appliance } = suite()
    const { id } = await taken(
      client.emails.send({ from, to: 'ada@customer.test', subject: 'Counted', text: 'One.' }),
    )
    await appliance.until(id, ({ deliveries }) => deliveries.every(({ state }) => state === 'delivered'))
    return id
  }

  test('emails.metrics: returns only totals without dimensions', async () => {
    const { client } = suite()
    const id = await send()
    const totals = await taken(client.emails.metrics({ emailId: [id] }))
    expect(totals).toMatchObject({
      object: 'metrics',
      dimensions: [],
      granularity: 'daily',
      totals: { sent: 1, delivered: 1, bounced: 0, delivery_rate: 1, bounce_rate: 0 },
    })
    expect(totals).not.toHaveProperty('data')
  })

  test('emails.metrics: breaks down by email, or by period and domain', async () => {
    const { client, appliance } = suite()
    const id = await send()
    const byEmail = await taken(
      client.emails.metrics({ emailId: [id], dimensions: ['email'], metrics: ['sent', 'delivered'] }),
    )
    expect(byEmail.data).toEqual([{ email_id: id, sent: 1, delivered: 1 }])
    const byDay = await taken(
      client.emails.metrics({
        dimensions: ['period', 'domain'],
        metrics: ['delivered', 'delivery_rate'],
        timezone: 'Europe/Berlin',
        granularity: 'hourly',
        startDate: new Date(Date.now() - 3_600_000).toISOString(),
      }),
    )
    expect(byDay).toMatchObject({ dimensions: ['period', 'domain'], granularity: 'hourly' })
    const rows = byDay.data!.filter(({ domain_name: name }) => name === appliance.domain)
    const sum = rows.reduce((all, { delivered = 0 }) => all + delivered, 0)
    expect(sum).toBeGreaterThanOrEqual(2)
    expect(sum).toBe(byDay.totals.delivered)
  })

  test('emails.metrics: rejects unknown time zones and conflicting filters', async () => {
    const { client } = suite()
    expect(await refused(client.emails.metrics({ timezone: 'Moon/Crater' }))).toMatchObject({
      statusCode: 422,
    })
    const both = { dimensions: ['broadcast' as const], emailId: [NOBODY] } as never
    expect(await refused(client.emails.metrics(both))).toMatchObject({ statusCode: 422 })
  })
}
