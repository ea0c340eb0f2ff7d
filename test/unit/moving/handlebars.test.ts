import { describe, expect, test } from 'vitest'
import { fromHandlebars } from '../../../appliance/moving/handlebars.ts'

describe('SES template tags', () => {
  const keysIn = (source: string) => [...fromHandlebars(source).keys]

  test('become variables if they are names or paths', () => {
    const { text, left } = fromHandlebars(
      'Hi {{name}}, {{ order.total }} {{{raw}}}{{! note }}{{!-- {{x}} --}}.',
    )
    expect(text).toBe('Hi {{{name}}}, {{{order_total}}} {{{raw}}}.')
    expect(left).toEqual([])
    expect(keysIn('{{order.total}}{{contact}}')).toEqual([
      ['order.total', 'order_total'],
      ['contact', 'contact_'],
    ])
  })

  test('that are blocks, helpers or partials are kept and listed, and never become merge tags', () => {
    const source = '{{#if vip}}Dear{{else}}Hi{{/if}} {{> footer}} {{this.x}} {{{upper name}}} {{a-b}}'
    const { text, left } = fromHandlebars(source)
    expect(text).toBe(source.replace('{{{upper name}}}', '{{upper name}}'))
    expect(left).toEqual([
      '{{#if vip}}',
      '{{else}}',
      '{{/if}}',
      '{{> footer}}',
      '{{this.x}}',
      '{{{upper name}}}',
      '{{a-b}}',
    ])
    expect(fromHandlebars(`{{${'x'.repeat(60)}}}`).keys.size).toBe(0)
  })

  test('are not found in text without tags', () => {
    expect(fromHandlebars('a { b } {{').text).toBe('a { b } {{')
  })
})
