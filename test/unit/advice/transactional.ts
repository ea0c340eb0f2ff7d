/**
 * Twenty transactional emails of a made-up shop, in the kinds and layouts that template sets have: nested tables with
 * inline styles, buttons for Word, preheaders, dark styles, bare fragments, and no markup at all.
 */

/** An email, filled in. `text` null: the app sends only HTML. */
export interface Sample {
  name: string
  subject: string
  html: string
  text: string | null
}

const SITE = 'https://www.northwind-tools.com'
const CDN = 'https://cdn.northwind-tools.com/mail'
const PREHEADER =
  'display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all'
const FILLER = '&#847;&zwnj;&nbsp;'.repeat(40)
const HEAD =
  '<meta http-equiv="Content-Type" content="text/html; charset=utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
const LOGO = `<img src="${CDN}/logo.png" width="140" height="32" alt="Northwind Tools" style="display:block;border:0">`
const FOOTER = `<p style="font-size:12px;color:#6b7280">Northwind Tools Ltd., 12 Harbour Road, Bristol BS1 4ST<br>
  Questions? Reply to this email or visit the <a href="${SITE}/help" style="color:#6b7280">help centre</a>.</p>`

const paragraphs = (texts: readonly string[]): string => texts.map((text) => `<p>${text}</p>`).join('\n')
const button = (words: string, path: string): string =>
  `<a href="${SITE}${path}" style="background:#14532d;border-radius:4px;color:#ffffff;display:inline-block;padding:12px 20px;text-decoration:none">${words}</a>`

/** Nested tables with a preheader, as most sets have. */
const tables = (preview: string, body: string): string =>
  `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head>${HEAD}<title>Northwind Tools</title>
<style>@media (max-width:600px){.inner{width:100%!important}}</style></head>
<body style="margin:0;background:#f3f4f6"><div style="${PREHEADER}">${preview}${FILLER}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" class="inner" width="570" cellpadding="0" cellspacing="0" style="background:#ffffff">
<tr><td style="padding:24px">${LOGO}</td></tr><tr><td style="padding:0 24px 24px;font-family:Helvetica,Arial,sans-serif">
${body}</td></tr></table>${FOOTER}</td></tr></table></body></html>`

/** One column with styles for dark mode. */
const column = (body: string): string =>
  `<!doctype html><html lang="en-GB" dir="ltr"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<style>:root{color-scheme:light dark}@media (prefers-color-scheme:dark){body{background:#111;color:#eee}}</style></head>
<body style="font:16px/1.5 system-ui,sans-serif"><div style="max-width:600px;margin:0 auto;padding:24px">
${body}<hr style="border:0;border-top:1px solid #e5e7eb">${FOOTER}
<a href="${SITE}/account/notifications">Choose which emails you get</a></div></body></html>`

/** A button that Word draws, too. */
const drawn = (words: string, path: string): string =>
  `<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="${SITE}${path}" style="height:44px;width:220px" fillcolor="#14532d"><center>${words}</center></v:roundrect><![endif]--><!--[if !mso]><!-->${button(words, path)}<!--<![endif]-->`

const rows = (lines: readonly (readonly [string, string])[]): string =>
  `<table width="100%" cellpadding="4">${lines
    .map(([what, sum]) => `<tr><td>${what}</td><td align="right">${sum}</td></tr>`)
    .join('')}</table>`

const product = (name: string, price: string): string =>
  `<tr><td width="80"><img src="${CDN}/p/${name.toLowerCase().replaceAll(' ', '-')}.jpg" width="64" height="64" alt="${name}"></td><td>${name}<br>${price}</td></tr>`

const sample = (name: string, subject: string, html: string, text: string | null = null): Sample => ({
  name,
  subject,
  html,
  text,
})

const ACCOUNT: readonly Sample[] = [
  sample(
    'welcome',
    'Welcome to Northwind Tools, Ada',
    tables(
      'Three things to do first.',
      `<h1>Welcome, Ada!</h1>${paragraphs([
        'Thanks for opening an account. We’re glad to have you with us.',
        'To get the most out of it, do these three things first: tell us about your workshop, save your delivery address, and have a look at the guides.',
      ])}${drawn('Finish your profile', '/account/start')}<p>Cheers,<br>The Northwind team</p>`,
    ),
  ),
  sample(
    'confirm address',
    'Confirm your email address',
    tables(
      'One click, and you’re done.',
      `${paragraphs(['Hi Ada,', 'Please confirm that this is your address, so that we can send you receipts.'])}
      ${button('Confirm address', '/confirm?token=8f1d2c7a90')}
      <p style="font-size:12px">If the button doesn’t work, copy this into your browser:<br>
      <a href="${SITE}/confirm?token=8f1d2c7a90">${SITE}/confirm?token=8f1d2c7a90</a></p>`,
    ),
  ),
  sample(
    'reset password',
    'Reset your password',
    tables(
      'The link works for one hour.',
      `${paragraphs([
        'Hi Ada,',
        'You asked to reset the password of your account. The link below works for one hour, and only once.',
      ])}${drawn('Choose a new password', '/reset/4b7e')}${paragraphs([
        'The request came from Firefox on Linux. If it wasn’t you, ignore this email, and nothing changes.',
      ])}`,
    ),
  ),
  sample(
    'sign-in code',
    'Your sign-in code is 482 913',
    column(
      '<p>Enter this code to sign in. It expires in ten minutes.</p><p style="font:700 32px monospace;letter-spacing:8px">482913</p><p>We never ask for this code by phone.</p>',
    ),
    'Enter this code to sign in. It expires in ten minutes.\n\n482913\n\nWe never ask for this code by phone.\n',
  ),
  sample(
    'magic link',
    'Sign in to Northwind Tools',
    `<p>Hello,</p><p><a href="${SITE}/in?t=ab12">Sign in to Northwind Tools</a></p><p>The link works for 15 minutes. You didn’t ask for it? Then somebody mistyped their address.</p>`,
  ),
  sample(
    'password changed',
    'Your password was changed',
    column(
      paragraphs([
        'The password of your account was changed on 20 November 2026 at 09:14 UTC, from Bristol.',
        `If you did this, you’re all set. If not, <a href="${SITE}/account/lock">lock your account</a> now, or call us at <a href="tel:+441174960000">+44 117 496 0000</a>.`,
      ]),
    ),
  ),
  sample(
    'new device',
    'New sign-in from Chrome on Windows',
    tables(
      'Was this you?',
      `<h2>Was this you?</h2>${rows([
        ['Device', 'Chrome on Windows'],
        ['Place', 'Bristol, United Kingdom'],
        ['IP address', '203.0.113.24'],
        ['Time', '20 Nov 2026, 09:14 UTC'],
      ])}${paragraphs(['If it was, there is nothing to do.'])}${button('It wasn’t me', '/account/security')}`,
    ),
  ),
]

const ORDERS: readonly Sample[] = [
  sample(
    'receipt',
    'Receipt for order 10482',
    tables(
      'You paid £84.50.',
      `<h1>Thanks for your order</h1><p>Order 10482 · 20 November 2026</p>${rows([
        ['Block plane, no. 9½', '£62.00'],
        ['Honing guide', '£18.00'],
        ['Delivery', '£4.50'],
        ['<strong>Total</strong>', '<strong>£84.50</strong>'],
      ])}<p>Paid with Visa ending in 4242.</p>${button('View your order', '/orders/10482')}`,
    ),
  ),
  sample(
    'invoice',
    'Invoice NW-2026-0931 from Northwind Tools',
    tables(
      'Due on 4 December.',
      `<p>Dear Analytical Engines Ltd.,</p><p>Please find attached invoice NW-2026-0931 over £1,240.00. It is due on 4 December 2026.</p>
      ${rows([
        ['Workbench, 3 pieces', '£1,033.33'],
        ['VAT 20%', '£206.67'],
      ])}${button('Pay online', '/invoices/NW-2026-0931')}<p>Bank transfer: Northwind Tools Ltd., GB33BUKB20201555555555</p>`,
    ),
  ),
  sample(
    'payment failed',
    'We couldn’t charge your card',
    column(
      `${paragraphs([
        'Hi Ada,',
        'Your bank declined the payment of £12.00 for your subscription. This happens when a card has expired or was replaced.',
        'We’ll try again on Friday. To avoid an interruption, update your card before then.',
      ])}${button('Update card', '/account/billing')}`,
    ),
  ),
  sample(
    'shipped',
    'Your order is on its way',
    tables(
      'Arrives Tuesday.',
      `<h1>It’s on its way!</h1><table>${product('Block plane', '£62.00')}${product('Honing guide', '£18.00')}</table>
      <p>Parcel Force brings it on Tuesday between 9 and 12.</p>${drawn('Track your parcel', '/track/10482')}`,
    ),
  ),
  sample(
    'delivered',
    'Delivered: order 10482',
    tables(
      'How was it?',
      `<p>Your parcel was left with your neighbour at number 14.</p><p>Something missing? <a href="${SITE}/orders/10482/help">Tell us</a>, and we’ll put it right.</p>
      <p>Follow us: <a href="https://www.instagram.com/northwindtools"><img src="${CDN}/instagram.png" alt="Instagram" width="24"></a></p>`,
    ),
  ),
  sample(
    'refund',
    'Your refund of £18.00',
    column(
      paragraphs([
        'We’ve refunded £18.00 for the honing guide to your Visa ending in 4242.',
        'Banks usually need five to ten days to show it. The receipt is in your account.',
      ]) + button('Show the receipt', '/orders/10482/refund'),
    ),
  ),
  sample(
    'trial ends',
    'Your trial ends in 3 days',
    tables(
      'Keep your plans and drawings.',
      `${paragraphs(['Hi Ada,', 'Your trial of the drawing library ends on Monday. Choose a plan to keep your drawings.'])}
      ${rows([
        ['Hobby', '£6 a month'],
        ['Workshop', '£12 a month'],
      ])}${button('Choose a plan', '/plans')}`,
    ),
  ),
]

const PEOPLE: readonly Sample[] = [
  sample(
    'invitation',
    'Charles invited you to the team Analytical Engines',
    column(
      `<p><img src="${CDN}/avatars/charles.png" width="48" height="48" alt="" style="border-radius:24px"></p>
      <p><strong>Charles Babbage</strong> (<a href="mailto:charles@analytical.example">charles@analytical.example</a>) invited you to order for Analytical Engines.</p>
      ${button('Accept invitation', '/invitations/77ac')}<p>The invitation expires in seven days.</p>`,
    ),
  ),
  sample(
    'comment',
    'Charles commented on “Difference engine, sheet 4”',
    column(
      `<p>Charles wrote:</p><blockquote style="border-left:3px solid #d1d5db;margin:0;padding-left:12px">The third gear wheel should have 24 teeth; see https://www.northwind-tools.com/d/4#gear and compare it with sheet 2.</blockquote>
      ${button('Reply', '/d/4#comment-9')}<p>You get this because you own the drawing. <a href="${SITE}/d/4/mute">Mute this drawing</a></p>`,
    ),
  ),
  sample(
    'digest',
    'Your week: 12 orders, 3 reviews',
    tables(
      '12 orders and 3 reviews.',
      `<h1>Your week in numbers</h1>${rows([
        ['Orders', '12'],
        ['Reviews', '3'],
        ['Visitors', '418'],
      ])}<ul><li><a href="${SITE}/s/orders">New orders</a></li><li><a href="${SITE}/s/reviews">New reviews</a></li></ul>
      <p><a href="${SITE}/account/digest">Change how often you get this</a></p>`,
    ),
  ),
  sample(
    'appointment',
    'Confirmed: sharpening course on 5 December',
    tables(
      'Saturday, 10:00.',
      `<p>Your place is booked.</p>${rows([
        ['When', 'Saturday 5 December 2026, 10:00 to 13:00'],
        ['Where', '12 Harbour Road, Bristol'],
        ['Bring', 'A chisel and an apron'],
      ])}<p><a href="${SITE}/courses/31/calendar.ics">Add to calendar</a> · <a href="${SITE}/courses/31/cancel">Cancel</a></p>`,
    ),
  ),
  sample(
    'support reply',
    'Re: [#5521] Plane iron arrived chipped',
    `<div>Hi Ada,<br><br>sorry about that! A new iron left our warehouse this morning, free of charge. Keep the old one for rough work.<br><br>Best wishes<br>Mary, Northwind support</div>
    <blockquote type="cite">On 19 Nov 2026, Ada wrote:<br>The iron of my new plane is chipped in one corner.</blockquote>`,
  ),
  sample(
    'outage over',
    'Resolved: checkout was unavailable',
    column(
      paragraphs([
        'Between 08:10 and 08:52 UTC, some customers could not pay. The cause was an expired certificate of our payment provider.',
        `Everything works again. Details are on our <a href="https://status.northwind-tools.com/i/88">status page</a>.`,
      ]),
    ),
    null,
  ),
]

/** All of them. */
export const TRANSACTIONAL: readonly Sample[] = [...ACCOUNT, ...ORDERS, ...PEOPLE]
