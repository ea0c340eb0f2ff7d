import { describe, expect, test } from 'vitest'
import { fromHandlebars } from '../../../appliance/moving/handlebars.ts'

describe('tags of SES templates', () => {
  const keysIn = (source: string) => [...fromHandlebars(source).keys]

  test('names and paths become variables', () => {
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

  test('blocks, helpers and partials are left and listed, never as a tag of ours', () => {
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

  test('text without tags stays as it is', () => {
    expect(fromHandlebars('a { b } {{').text).toBe('a { b } {{')
  })
})
