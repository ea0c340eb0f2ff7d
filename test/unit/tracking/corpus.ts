/** HTML as senders write it: combined layouts and parts, and fragments that have broken other rewriters. */

const LINKS = [
  '<a href="https://shop.test/p?id=1&amp;utm_source=mail">Buy</a>',
  '<a href=\'https://shop.test/p?q="x"\' target=_blank>Buy</a>',
  '<a href=https://shop.test/unquoted>Buy</a>',
  '<a class="btn" style="color:#fff" href="https://shop.test/#a%20b"><span>Buy</span></a>',
  '<A HREF="HTTPS://SHOP.TEST/UPPER">Buy</A>',
  '<a href="https://shop.test/g&uuml;nstig?&copy=1&lt=2">Buy</a>',
  '<a href="mailto:help@shop.test?subject=A%20B">Help</a> <a href="tel:+4930123">Call</a>',
  '<a href="#top">Up</a><a name="top"></a><a>none</a><a href>empty</a><a href="">none</a>',
  '<a href="{{unsubscribe_url}}">Off</a> <a href="https://shop.test/{{ user.id }}">Me</a>',
  '<a href="https://shop.test/keep" data-posthaste-track="off">Keep</a>',
  '<a href="  https://shop.test/spaces  ">Buy</a>',
  '<a\n  href = "https://shop.test/lines"\n  title="2 > 1">Buy</a>',
]

const PARTS = [
  (link: string) => `<table role="presentation" width="600"><tr><td align="center">${link}</td></tr></table>`,
  (link: string) => `<p>Hello &amp; welcome,<br>${link}</p><ul><li>one<li>two</ul>`,
  (link: string) =>
    `<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://shop.test/vml" arcsize="10%"><w:anchorlock/><center>Buy</center></v:roundrect><![endif]--><!--[if !mso]><!-- -->${link}<!--<![endif]-->`,
  (link: string) =>
    `<picture><source srcset="https://cdn.test/a.webp 1x, https://cdn.test/b.webp 2x"><img src="https://cdn.test/a.png" alt="A > B"></picture>${link}`,
  (link: string) =>
    `<map name="m"><area shape="rect" coords="0,0,9,9" href="https://shop.test/area"></map><img usemap="#m" src="cid:logo">${link}`,
  (link: string) =>
    `<div style="background:url('https://cdn.test/bg.png')"><center><font color=red>${link}</font></center></div>`,
]

const FRAMES = [
  (body: string) =>
    `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>A <b> & c</title><style type="text/css">@media (max-width:600px){a[href]>b{color:red}}</style></head><body bgcolor="#ffffff">${body}</body></html>\n`,
  (body: string) =>
    `<!doctype html><html><head><base href="https://shop.test/"></head><body>\r\n${body}\r\n</body>\r\n</html>\r\n`,
  (body: string) => body,
  (body: string) => `<html><body>${body}`,
]

/** Malformed or adversarial HTML. */
const NASTY = [
  '',
  'plain text, no tag, 1 < 2 & 3 > 2',
  '<a href="https://a.test">never closed',
  '<a href="https://a.test"><a href="https://b.test">two</a></a>',
  '<b><i><a href="https://a.test">x</b></i></a><p>y',
  '<table><a href="https://a.test">foster</a><tr><td>x</table>',
  '<p><b><a href="https://a.test">x</p></body></html>',
  '<a href="https://a.test/\'quotes&quot;">x</a>',
  "<a href='https://a.test/\"'>x</a>",
  '<a href="https://a.test" href="https://b.test">x</a>',
  '<a/href="https://a.test"/class=x>x</a>',
  '<a href=https://a.test/x/>x</a>',
  '<a href = https://a.test >x</a>',
  '<a onclick="a>b" href="https://a.test">x</a>',
  '<a title=\'<a href="https://no.test">\' href="https://a.test">x</a>',
  '<script>document.write(\'<a href="https://no.test">\')</script><a href="https://a.test">x</a>',
  '<style><!-- a{} </style><a href="https://a.test">x</a><!-- -->',
  '<textarea><a href="https://no.test"></textarea><a href="https://a.test">x</a>',
  '<title></title ><a href="https://a.test">x</a>',
  '<xmp><a href="https://no.test"></xmp><a href="https://a.test">x</a>',
  '<iframe><a href="https://no.test"></iframe><a href="https://a.test">x</a>',
  '<noscript><a href="https://a.test">x</a></noscript>',
  '<plaintext><a href="https://no.test">',
  '<!-- x --!><a href="https://a.test">x</a>',
  '<!--><a href="https://a.test">x</a>-->',
  '<!---><a href="https://a.test">x</a>',
  '<!-- - -- > <a href="https://no.test"> -->',
  '<!a <a href="https://a.test">x</a>',
  '<?php <a href="https://a.test">x</a> ?>',
  '</ <a href="https://a.test">>',
  '<![CDATA[ <a href="https://a.test">x</a> ]]>',
  '<svg><a href="https://a.test"><text>x</text></a></svg>',
  '<svg><![CDATA[ <a href="https://no.test"> ]]></svg><a href="https://a.test">x</a>',
  '<svg><style><a href="https://a.test">x</a></style></svg>',
  '<math><mi><a href="https://a.test">x</a></mi></math>',
  '<template><a href="https://a.test">x</a></template>',
  '<select><option><a href="https://a.test">x</a></select>',
  '<button><a href="https://a.test">x</a></button>',
  '<a href="https://a.test/&#x67;&#114;&amp;&notit;&not;&bogus;&">x</a>',
  '<a href="&#104;&#116;&#116;&#112;&#115;://a.test">x</a>',
  '<a href="https://a.test/&#0;&#xD800;&#x110000;">x</a>',
  '<a href="https://a.test/\u00fc\u{1f600}?\u202e">\u{1f600}</a>',
  '<a href="https://a.test/\0x">x\0</a>',
  '<a href="https://a.test/%zz%">x</a>',
  '<a href="https://[::1]:8080/">x</a><a href="https://[bad/">x</a>',
  '<a href="https://user:pass@a.test:99/">x</a>',
  '<a href="http:\\\\a.test\\b">x</a><a href="https:a.test">x</a>',
  '<a href="java\nscript:alert(1)">x</a><a href="vbscript:x">x</a>',
  '<body><a href="https://a.test">x</a></body></body><p>after</p></html></html>',
  '<body></body><a href="https://a.test">after</a>',
  '<html><head></head></html><!-- end --> ',
  '<frameset><frame src="https://a.test"></frameset>',
  `<a href="https://a.test/${'y'.repeat(5000)}">long</a>`,
  `${'<div>'.repeat(300)}<a href="https://a.test">deep</a>${'</div>'.repeat(300)}`,
  `<table>${'<tr><td><a href="https://a.test/row">x</a></td></tr>'.repeat(2000)}</table>`,
  '<a href="https://a.test"',
  '<a href="https://a.test',
  '<a href=https://a.test',
  '<a',
  '<',
  '&',
  '<p>x</p><!-- open',
  '<p>x</p><style>open',
]

/** Returns 288 layouts, and the malformed ones. */
export function corpus(): string[] {
  const layouts = FRAMES.flatMap((frame) =>
    PARTS.flatMap((part) =>
      LINKS.map((link, at) => frame(part(link) + part(LINKS[(at + 5) % LINKS.length]!))),
    ),
  )
  return [...layouts, ...NASTY]
}
