/** How a document looks where its blocks don't say otherwise. */

/** Fonts that need no download, with what stands in for them. */
export const FONTS = {
  sans: "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif",
  arial: 'Arial,Helvetica,sans-serif',
  verdana: 'Verdana,Geneva,sans-serif',
  trebuchet: "'Trebuchet MS',Tahoma,sans-serif",
  georgia: "Georgia,'Times New Roman',serif",
  times: "'Times New Roman',Times,serif",
  mono: "'Courier New',Courier,monospace",
} as const

/** The colors of one mode: `#rrggbb`, in lower case. */
export interface ThemeColors {
  /** Around the email. */
  background: string
  /** Behind the text. */
  surface: string
  text: string
  link: string
}

export interface Theme extends ThemeColors {
  /** Widest layout, in pixels. */
  width: number
  /** Background of buttons, and their text. */
  accent: string
  accentText: string
  font: keyof typeof FONTS
  /** Pixels. */
  fontSize: number
  /** Of buttons and images, in pixels. */
  radius: number
  /** For readers that are set to dark; null: no colors of its own. */
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
