// One Markdown page as HTML, with what the search knows of it. Pure: which pages exist is handed in.
import { posix } from 'node:path'
import { Marked, type Tokens } from 'marked'

export interface Section {
  readonly anchor: string
  readonly title: string
  readonly text: string
}

export interface RenderedPage {
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
  /** Targets inside of the site, as path and anchor. */
  readonly links: readonly { readonly path: string; readonly anchor: string }[]
}

/** `docs/tasks/README.md` is `docs/tasks/index.html`. */
export const htmlPath = (path: string): string =>
  posix.join(
    posix.dirname(path),
    posix.basename(path) === 'README.md' ? 'index.html' : `${posix.basename(path, '.md')}.html`,
  )

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** As GitHub makes them, so that links work in both places. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

const plain = (markdown: string): string =>
  markdown
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll(/[`*|[\]#]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

export function renderPage(path: string, markdown: string, isPage: (path: string) => boolean): RenderedPage {
  const links: { path: string; anchor: string }[] = []
  const anchors = new Map<string, number>()
  const target = (href: string): string | undefined => {
    if (/^[a-z]+:/.test(href)) return href
    const [file = '', anchor = ''] = href.split('#')
    const to = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file))
    links.push({ path: to, anchor })
    if (!isPage(to)) return undefined
    return `${posix.relative(posix.dirname(path), htmlPath(to))}${anchor === '' ? '' : `#${anchor}`}`
  }
  const sections: { anchor: string; title: string; text: string }[] = []
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const shown = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '')
        const name = anchorOf(shown)
        const used = anchors.get(name) ?? 0
        anchors.set(name, used + 1)
        const anchor = used === 0 ? name : `${name}-${used}`
        sections.push({ anchor, title: shown, text: '' })
        return `<h${depth} id="${anchor}"><a href="#${anchor}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const inner = this.parser.parseInline(tokens)
        const to = target(href)
        return to === undefined ? inner : `<a href="${escaped(to)}">${inner}</a>`
      },
      codespan({ text }: Tokens.Codespan) {
        // Paths of fields may break after a dot: otherwise one long path takes the width of a table.
        return `<code>${escaped(text).replaceAll(/(?<=\w|\])\.(?=[a-z])/gi, '.<wbr>')}</code>`
      },
      image({ href, text }: Tokens.Image) {
        if (/^[a-z]+:/.test(href)) throw new Error(`${path}: picture ${href} is on another server`)
        links.push({ path: posix.normalize(posix.join(posix.dirname(path), href)), anchor: '' })
        return `<img src="${escaped(href)}" alt="${escaped(text)}">`
      },
      table(token: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((c) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('')}</tr>\n`
        const rows = token.rows.map((r) => row(r, 'td')).join('')
        return `<div class="wide"><table>${row(token.header, 'th')}${rows}</table></div>\n`
      },
      html({ text }: Tokens.HTML | Tokens.Tag) {
        if (text.trim().startsWith('<!--')) return ''
        // In cells of tables, where backquotes cannot hold a bar.
        if (/^<\/?code>$/.test(text)) return text
        throw new Error(`${path}: HTML in Markdown is not supported: ${text.trim()}`)
      },
    },
  })
  const html = marked.parse(markdown, { async: false })
  textOf(markdown).forEach((text, i) => {
    const section = sections[i]
    if (section !== undefined) section.text = text
  })
  return { title: sections[0]?.title ?? path, html, sections, links }
}

/** The text below each heading, in order. A line that begins with # inside of a block of code is no heading. */
function textOf(markdown: string): readonly string[] {
  const parts: string[][] = []
  let isCode = false
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    if (!isCode && /^#{1,6} /.test(line)) parts.push([])
    else parts.at(-1)?.push(line)
  }
  return parts.map((lines) => plain(lines.join('\n')))
}
