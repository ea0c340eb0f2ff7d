import { describe, expect, test } from 'vitest'
import { loadProviders, loadReceivers } from '../../../appliance/config/config.ts'
import {
  toReceiverCounts,
  countAddresses,
  divideProportionally,
  drawBars,
} from '../../../appliance/simulation/simulation.ts'

const receivers = loadReceivers()

describe('a list of recipients', () => {
  test('divides recipients by weight, without losing any', () => {
    expect(
      [
        ...divideProportionally(
          10,
          new Map([
            ['a', 1],
            ['b', 1],
            ['c', 1],
          ]),
        ).values(),
      ].toSorted(),
    ).toEqual([3, 3, 4])
    expect(
      divideProportionally(
        7,
        new Map([
          ['a', 0],
          ['b', 2],
        ]),
      ),
    ).toEqual(
      new Map([
        ['a', 0],
        ['b', 7],
      ]),
    )
  })

  test('counts recipients by the domains of their addresses', () => {
    const text =
      'email,name\nada@gmail.com,Ada\n"bob@GMAIL.com",Bob\ncarol@aol.com\ndan@firm.example\n\nnobody\n'
    expect(countAddresses(text, receivers, 'hosting')).toEqual(
      new Map([
        ['gmail', 2],
        ['yahoo', 1],
        ['hosting', 1],
      ]),
    )
  })

  test('rejects a list without addresses', () => {
    expect(() => countAddresses('email\n', receivers, 'hosting')).toThrow(/contacts.*an address on each line/)
  })

  test('recipients of a segment go to the receivers of its providers', () => {
    const table = loadProviders({ connections: 10 })
    const counts = new Map([
      ['google', 46],
      ['m365', 10],
      ['', 3],
      ['firm.example', 2],
    ])
    expect(toReceiverCounts(counts, receivers, { table, other: 'hosting' })).toEqual(
      new Map([
        ['gmail', 38],
        ['workspace', 8],
        ['business', 10],
        ['hosting', 5],
      ]),
    )
  })
})

describe('the chart in the terminal', () => {
  test('the chart fits the terminal regardless of the duration', () => {
    for (const minutes of [1, 59, 61, 5000, 50_000]) {
      const lines = drawBars(Array.from({ length: minutes }, (_, at) => at % 7))
      expect(lines.length).toBe(11)
      expect(lines.filter((line) => line.length > 80)).toEqual([])
    }
  })

  test('the chart shows the highest bar in full, and the time span of a bar', () => {
    const lines = drawBars([10, 5, 0])
    expect(lines[0]).toBe('Emails delivered in each 1 min')
    expect(lines[1]).toBe('10 │█')
    expect(lines[8]).toBe(' 0 │██')
  })

  test('the chart is not drawn when nothing was delivered', () => {
    expect(drawBars([])).toEqual([])
  })
})
