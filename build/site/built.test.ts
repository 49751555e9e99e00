// The site as a reader meets it: built by its one command, opened from the folder, and searched with the script that the pages load.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-site-'))
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { docs: string } }
  const command = [...scripts.docs.split(' '), '--out', dir]
  execFileSync(join(ROOT, command[0] ?? ''), command.slice(1), { cwd: ROOT, stdio: 'pipe' })
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** What the script of a page uses of a browser. */
class Element {
  textContent = ''
  hidden = true
  value = ''
  href = ''
  src = ''
  onload?: () => void
  readonly children: Element[] = []
  readonly listeners: Record<string, (event: object) => unknown> = {}
  append(...more: Element[]): void {
    this.children.push(...more)
  }
  replaceChildren(...more: Element[]): void {
    this.children.splice(0, Infinity, ...more)
  }
  addEventListener(name: string, listener: (event: object) => unknown): void {
    this.listeners[name] = listener
  }
}

/** Opens a page and types into its search box; the links that it shows. */
async function searched(page: string, words: string): Promise<readonly string[]> {
  const html = readFileSync(join(dir, page), 'utf8')
  const [box, found] = [new Element(), new Element()]
  const head = {
    append: (script: Element) => {
      runInContext(readFileSync(join(dir, dirname(page), script.src), 'utf8'), context)
      script.onload?.()
    },
  }
  const document = {
    body: { dataset: { root: /<body[^>]* data-root="([^"]*)"/.exec(html)?.[1] } },
    head,
    getElementById: (id: string) => (html.includes(`id="${id}"`) ? { search: box, found }[id] : undefined),
    createElement: () => new Element(),
    addEventListener: () => undefined,
  }
  const context = createContext({ document })
  const [, src = ''] = /<script src="([^"]*)" defer>/.exec(html) ?? []
  runInContext(readFileSync(join(dir, dirname(page), src), 'utf8'), context)
  box.value = words
  await box.listeners['input']?.({})
  expect(found.hidden).toBe(false)
  return found.children.flatMap((item) => item.children.map((link) => link.href))
}

test.each(['index.html', 'docs/tasks/index.html'])(
  'from %s the search leads to a heading that is there',
  async (page) => {
    const [first = ''] = await searched(page, 'a rollout stands')
    const [path = '', anchor = ''] = first.split('#')
    const target = join(dir, dirname(page), path)
    expect(target).toBe(join(dir, 'docs/operations/three-in-the-morning.html'))
    expect(readFileSync(target, 'utf8')).toContain(`id="${anchor}"`)
    expect(await searched(page, 'nonsense-that-is-nowhere')).toEqual([])
  },
)

test('pictures are files beside the pages', () => {
  const html = readFileSync(join(dir, 'index.html'), 'utf8')
  const pictures = [...html.matchAll(/<img[^>]* src="([^"]+)"/g)].map(([, src = '']) => src)
  expect(pictures).not.toEqual([])
  const isPicture = (bytes: Buffer) =>
    bytes.toString('latin1', 0, 4) === '<svg' || bytes.toString('latin1', 1, 4) === 'PNG'
  expect(pictures.filter((src) => !existsSync(join(dir, src)) || !isPicture(readFileSync(join(dir, src))))).toEqual([])
})
