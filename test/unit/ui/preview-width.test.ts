import { expect, test } from 'vitest'
import { minimumWidth } from '../../../ui/src/state/preview-width.ts'

test.each([
  ['<p>Text</p>', 0],
  ['<table width="600"><tr><td width="100%">x</td></tr></table>', 616],
  ['<div style="width: 640px; margin: 0">x</div>', 656],
  ['<div style="min-width:320px"><img width=500></div>', 516],
  ['<div style="max-width:600px">x</div>', 0],
  ['<td style="border-width:100px">x</td>', 0],
  ['<div style="width:9000px">x</div>', 1016],
  [
    '<style>@media only screen and (max-width: 480px) { table { width: 100% } }</style><table width="600">',
    0,
  ],
])('the minimum width of %s is %i pixels', (html, pixels) => {
  expect(minimumWidth(html)).toBe(pixels)
})
