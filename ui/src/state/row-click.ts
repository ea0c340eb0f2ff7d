/**
 * A row of a list is a link as a whole. What has more to tell on hover lies above the link, which would hide it; a click on
 * such a thing is one on the link, with the same keys held.
 */
const OWN = 'a, button, input, select, label, summary'

document.addEventListener('click', (event) => {
  const { target } = event
  if (event.defaultPrevented || !(target instanceof Element) || target.closest(OWN)) return
  // Who has just selected a word does not want to go away.
  if (getSelection()?.isCollapsed === false) return
  const link = target.closest('.list tr')?.querySelector('a[data-row]')
  const { button, ctrlKey, metaKey, shiftKey, altKey } = event
  const held = { button, ctrlKey, metaKey, shiftKey, altKey }
  link?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ...held }))
})
