/** Whether the window is wide enough to show a list and the selected item side by side. */
const query = matchMedia('(min-width: 1400px)')
let matches = $state(query.matches)
query.addEventListener('change', () => (matches = query.matches))

export const wide = {
  get value(): boolean {
    return matches
  },
}
