// Asks a pod every 100 ms, from the network of the cluster and in a process of its own, and counts what was not answered.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { execPath } from 'node:process'

export interface Probed {
  readonly asked: number
  readonly answered: number
  readonly failures: readonly string[]
}

const EVERY_MS = 100
/** A machine that is busy answers late; a connection that is refused or cut fails at once. */
const LATE_MS = 20_000

const PROGRAM = `
const http = require('node:http')
let asked = 0, answered = 0
const failures = []
const failed = (e) => failures.push(new Date().toISOString() + ' ' + e.message)
const ask = () => {
  asked++
  const request = http.get(process.argv[1], { agent: false, timeout: ${LATE_MS} }, (r) => {
    r.resume()
    r.once('end', () => (r.statusCode === 200 ? answered++ : failed(new Error(String(r.statusCode)))))
  })
  request.once('timeout', () => request.destroy(new Error('no answer')))
  request.once('error', failed)
}
const timer = setInterval(ask, ${EVERY_MS})
process.stdin.once('data', () => {
  clearInterval(timer)
  const end = () => (answered + failures.length < asked ? setTimeout(end, 50) : process.stdout.write(JSON.stringify({ asked, answered, failures }), () => process.exit(0)))
  end()
})
`

export class Prober {
  readonly #child: ChildProcess

  /** `enter`: the command that enters the network. */
  constructor(enter: readonly string[], url: string) {
    const [command, ...rest] = [...enter, execPath, '-e', PROGRAM, url]
    this.#child = spawn(command ?? execPath, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  }

  async end(): Promise<Probed> {
    let text = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part))
    this.#child.stdin?.write('end\n')
    await once(this.#child, 'close')
    return JSON.parse(text) as Probed
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
