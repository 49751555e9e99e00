// Conditions on figures, such as `needless.share > 0.1 and added.jobs >= 3`: parsed once, evaluated on named numbers. Pure.
import { KubeNodeError } from '#lib/errors.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { backtestErrors } from './backtest-errors.ts'

export type Figures = Readonly<Record<string, number>>

export interface Expression {
  readonly text: string
  readonly isTrue: (figures: Figures) => boolean
  /** The figures that it names, in its order. */
  readonly names: readonly string[]
}

type Test = (figures: Figures) => boolean
type Unit = 'share' | 'number'

interface Value {
  readonly text: string
  readonly of: (figures: Figures) => number
  /** Undefined: a number of 0 to 1, which may be either. */
  readonly unit: Unit | undefined
}

/** Figures from 0% to 100%. */
const SHARE = /^(?:(?:.+\.)?share|(?:peak|own|all)\.(?:zone|rack|pool)|rule\.needless|calibration)$/

export const isShare = (figure: string): boolean => SHARE.test(figure)

const TOKEN = /\s*(?:(?<number>-?\d+(?:\.\d+)?%?)|(?<word>[a-z][\w.]*)|(?<sign>>=|<=|==|!=|>|<|\(|\)))/giy
const MAX_CHARS = 1_000
const MAX_DEPTH = 20

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
}

export function parsedExpression(text: string, known: readonly string[]): Expression {
  return new Parser(text, known).whole()
}

class Parser {
  readonly #text: string
  readonly #known: readonly string[]
  readonly #tokens: readonly string[]
  readonly #names: string[] = []
  #at = 0

  constructor(text: string, known: readonly string[]) {
    this.#text = text
    this.#known = known
    this.#tokens = this.#split()
  }

  whole(): Expression {
    const isTrue = this.#any(0)
    if (this.#at < this.#tokens.length) throw this.#wrong(`${this.#tokens[this.#at]} is not expected there`)
    return { text: this.#text, isTrue, names: this.#names }
  }

  #split(): readonly string[] {
    const text = this.#text.trim()
    if (text.length > MAX_CHARS) throw this.#wrong(`it is longer than ${MAX_CHARS} characters`)
    const tokens: string[] = []
    TOKEN.lastIndex = 0
    while (TOKEN.lastIndex < text.length) {
      const from = TOKEN.lastIndex
      const found = TOKEN.exec(text)
      if (found === null) throw this.#wrong(`${text.slice(from).trim().slice(0, 20)} cannot be read`)
      tokens.push(found[0].trim())
    }
    return tokens
  }

  #any(depth: number): Test {
    if (depth > MAX_DEPTH) throw this.#wrong('its parentheses are nested too deep')
    const parts = [this.#all(depth)]
    while (this.#takes('or')) parts.push(this.#all(depth))
    return (figures) => parts.some((test) => test(figures))
  }

  #all(depth: number): Test {
    const parts = [this.#one(depth)]
    while (this.#takes('and')) parts.push(this.#one(depth))
    return (figures) => parts.every((test) => test(figures))
  }

  #one(depth: number): Test {
    if (this.#takes('not')) {
      const test = this.#one(depth + 1)
      return (figures) => !test(figures)
    }
    if (this.#takes('(')) {
      const test = this.#any(depth + 1)
      if (!this.#takes(')')) throw this.#wrong('a parenthesis is not closed')
      return test
    }
    const left = this.#value()
    const sign = this.#tokens[this.#at] ?? ''
    const compare = COMPARE[sign]
    if (compare === undefined)
      throw this.#wrong(`a comparison such as > is missing after ${this.#tokens[this.#at - 1]}`)
    this.#at++
    const right = this.#value()
    this.#checkUnits(left, right)
    this.#checkReach(left, right, sign)
    return (figures) => compare(left.of(figures), right.of(figures))
  }

  #value(): Value {
    const token = this.#tokens[this.#at++]
    if (token === undefined) throw this.#wrong('it ends too early')
    if (/^[-\d]/.test(token)) {
      const isPercent = token.endsWith('%')
      const number = isPercent ? Number(token.slice(0, -1)) / 100 : Number(token)
      if (isPercent && (number < 0 || number > 1)) throw this.#wrong(`${token} is no share: they are from 0% to 100%`)
      const unit = isPercent ? 'share' : number >= 0 && number <= 1 ? undefined : 'number'
      return { text: token, of: () => number, unit }
    }
    if (!this.#known.includes(token)) {
      const near = didYouMean(token, this.#known)
      throw new KubeNodeError(
        backtestErrors.KN1342_figure({
          name: token,
          hint: near === undefined ? '' : ` (did you mean ${near}?)`,
          known: this.#known.join(', '),
        }),
      )
    }
    if (!this.#names.includes(token)) this.#names.push(token)
    return { text: token, of: (figures) => figures[token] ?? 0, unit: isShare(token) ? 'share' : 'number' }
  }

  /** A share that is compared with 10 is never larger, and a number that is compared with 50% nearly always. */
  #checkUnits(left: Value, right: Value): void {
    if (left.unit === undefined || right.unit === undefined || left.unit === right.unit) return
    const [share, number] = left.unit === 'share' ? [left, right] : [right, left]
    const [isFigure, isOther] = [isName(share.text), isName(number.text)]
    if (isFigure && isOther) throw this.#wrong(`${share.text} is a share, and ${number.text} is none`)
    if (isFigure) throw this.#wrong(`${share.text} is a share; write ${number.text}%`)
    if (isOther) throw this.#wrong(`${number.text} is no share; write ${share.text.slice(0, -1)}`)
    throw this.#wrong(`${share.text} and ${number.text} cannot be compared`)
  }

  /** No share is above 100%. A gate that says so passes everything; who writes 1 means 1%. */
  #checkReach(left: Value, right: Value, sign: string): void {
    const [share, most] = sign === '<' ? [right, left] : [left, right]
    if ((sign !== '>' && sign !== '<') || share.unit !== 'share' || !isName(share.text)) return
    if (most.text === '1' || most.text === '100%')
      throw this.#wrong(`${share.text} is never above 100%; did you mean 1%?`)
  }

  #takes(token: string): boolean {
    if (this.#tokens[this.#at]?.toLowerCase() !== token) return false
    this.#at++
    return true
  }

  #wrong(why: string): KubeNodeError {
    return new KubeNodeError(backtestErrors.KN1342({ text: JSON.stringify(this.#text), why }))
  }
}

const isName = (text: string): boolean => /^[a-z]/i.test(text)
