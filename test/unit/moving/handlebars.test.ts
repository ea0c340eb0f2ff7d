import { describe, expect, test } from 'vitest'
import { convertHandlebars } from '../../../appliance/moving/handlebars.ts'

describe('SES template tags', () => {
  const keysIn = (source: string) => [...convertHandlebars(source).keys]

  test('SES tags become variables if they are names or paths', () => {
    const { text, left } = convertHandlebars(
      'Hi {{name}}, {{ order.total }} {{{raw}}}{{! note }}{{!-- {{x}} --}}.',
    )
    expect(text).toBe('Hi {{{name}}}, {{{order_total}}} {{{raw}}}.')
    expect(left).toEqual([])
    expect(keysIn('{{order.total}}{{contact}}')).toEqual([
      ['order.total', 'order_total'],
      ['contact', 'contact_'],
    ])
  })

  test('SES tags that are blocks, helpers or partials are kept and listed, and never become merge tags', () => {
    const source = '{{#if vip}}Dear{{else}}Hi{{/if}} {{> footer}} {{this.x}} {{{upper name}}} {{a-b}}'
    const { text, left } = convertHandlebars(source)
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
    expect(convertHandlebars(`{{${'x'.repeat(60)}}}`).keys.size).toBe(0)
  })

  test('finds no SES tags in text without tags', () => {
    expect(convertHandlebars('a { b } {{').text).toBe('a { b } {{')
  })
})
