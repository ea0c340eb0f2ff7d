/** The theme of a document: the default look of its blocks. */

/** Fonts that need no download, with their fallbacks. */
export const FONTS = {
  sans: "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif",
  arial: 'Arial,Helvetica,sans-serif',
  verdana: 'Verdana,Geneva,sans-serif',
  trebuchet: "'Trebuchet MS',Tahoma,sans-serif",
  georgia: "Georgia,'Times New Roman',serif",
  times: "'Times New Roman',Times,serif",
  mono: "'Courier New',Courier,monospace",
} as const

/** The colors of one mode: `#rrggbb`, lower case. */
export interface ThemeColors {
  /** Background color around the email. */
  background: string
  /** Background color behind the text. */
  surface: string
  text: string
  link: string
}

export interface Theme extends ThemeColors {
  /** Maximum width of the layout, in pixels. */
  width: number
  /** Background color of buttons, and their text color. */
  accent: string
  accentText: string
  font: keyof typeof FONTS
  /** Pixels. */
  fontSize: number
  /** Corner radius of buttons and images, in pixels. */
  radius: number
  /** Colors for readers in dark mode; null if there are no separate colors. */
  dark: ThemeColors | null
}

export const DEFAULT_THEME: Theme = {
  width: 600,
  background: '#f4f4f6',
  surface: '#ffffff',
  text: '#1b1c1f',
  link: '#3a49c4',
  accent: '#4353d6',
  accentText: '#ffffff',
  font: 'sans',
  fontSize: 16,
  radius: 6,
  dark: { background: '#121316', surface: '#1c1d21', text: '#e8e9ec', link: '#9fa9ff' },
}

/** Space between the edge of the email and its blocks, in pixels. */
export const PADDING = 32
