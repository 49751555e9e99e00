// Sends a form once, however often the button is pressed, and keeps the reason of a refusal.
import { useRef, useState } from 'preact/hooks'
import { post } from '../live/store.ts'

interface FormError {
  readonly text: string
  /** The field to correct; left out if the server refused. */
  readonly field?: string
}

interface Sending<T> {
  readonly error: FormError | undefined
  readonly isSending: boolean
  readonly fail: (error: FormError) => void
  readonly reset: () => void
  /** Undefined: refused, with the error shown, or the same form was just sent. */
  readonly send: (body: unknown, refused: string) => Promise<T | undefined>
}

export function useSending<T>(url: string): Sending<T> {
  const [error, fail] = useState<FormError>()
  const [isSending, setSending] = useState(false)
  // The next press may come before the page redraws.
  const isUnderWay = useRef(false)
  const send = async (body: unknown, refused: string): Promise<T | undefined> => {
    if (isUnderWay.current) return undefined
    isUnderWay.current = true
    setSending(true)
    fail(undefined)
    const answer = await post<T>(url, body)
    isUnderWay.current = false
    setSending(false)
    if (answer.state === 'Ready') return answer.value
    if (answer.state !== 'Loading') fail({ text: `${refused}: ${answer.message}` })
    return undefined
  }
  return { error, isSending, fail, reset: () => fail(undefined), send }
}
