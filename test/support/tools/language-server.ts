// The type checker as a server, asked where a symbol is used: it follows types, so equally named fields of two kinds are not confused.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export interface Place {
  readonly file: string
  /** Both from 0. */
  readonly line: number
  readonly character: number
}

interface Answer {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

interface Location {
  readonly uri: string
  readonly range: { readonly start: { readonly line: number; readonly character: number } }
}

const HEAD = /Content-Length: (\d+)/

export class LanguageServer {
  readonly #root: string
  readonly #process
  readonly #pending = new Map<number, { resolve: (result: unknown) => void; reject: (e: Error) => void }>()
  readonly #opened = new Set<string>()
  #received = Buffer.alloc(0)
  #sent = 0

  private constructor(root: string) {
    this.#root = root
    this.#process = spawn('bin/with-node', ['tsc', '--lsp', '--stdio'], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#process.stdout.on('data', (data: Buffer) => this.#read(data))
    this.#process.on('exit', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the language server ended'))
    })
  }

  static async start(root: string): Promise<LanguageServer> {
    const server = new LanguageServer(root)
    await server.#ask('initialize', { processId: null, rootUri: pathToFileURL(root).href, capabilities: {} })
    server.#write({ method: 'initialized', params: {} })
    return server
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#pending.clear()
    this.#process.kill()
    await ended
  }

  /** Without the declaration itself. */
  async uses({ file, line, character }: Place): Promise<readonly Place[]> {
    const uri = pathToFileURL(join(this.#root, file)).href
    if (!this.#opened.has(uri)) {
      this.#opened.add(uri)
      const text = readFileSync(join(this.#root, file), 'utf8')
      this.#write({
        method: 'textDocument/didOpen',
        params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
      })
    }
    const found = (await this.#ask('textDocument/references', {
      textDocument: { uri },
      position: { line, character },
      context: { includeDeclaration: false },
    })) as readonly Location[] | null
    return (found ?? []).map((l) => ({
      file: fileURLToPath(l.uri).slice(this.#root.length + 1),
      ...l.range.start,
    }))
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = ++this.#sent
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      this.#write({ id, method, params })
    })
  }

  #write(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }

  #read(data: Buffer): void {
    this.#received = Buffer.concat([this.#received, data])
    for (;;) {
      const head = this.#received.indexOf('\r\n\r\n')
      if (head < 0) return
      const from = head + 4
      const to = from + Number(HEAD.exec(this.#received.subarray(0, head).toString())?.[1] ?? 0)
      if (this.#received.length < to) return
      const answer = JSON.parse(this.#received.subarray(from, to).toString()) as Answer
      this.#received = this.#received.subarray(to)
      this.#take(answer)
    }
  }

  #take({ id, method, result, error }: Answer): void {
    if (id === undefined) return
    if (method !== undefined) {
      // It asks too: for settings, of which there are none.
      this.#write({ id, result: method === 'workspace/configuration' ? [null] : null })
      return
    }
    const waiting = this.#pending.get(id)
    this.#pending.delete(id)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(error.message))
  }
}
