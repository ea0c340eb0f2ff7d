// A classic script before the first paint: a remembered theme must not flash the other one. A file of its own,
// because the content security policy forbids inline scripts.
try {
  const theme = JSON.parse(localStorage.getItem('posthaste.theme') ?? 'null')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage is off or holds something else: the system's theme stays.
}
