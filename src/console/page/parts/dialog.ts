// A dialog that a button opens and that draws its content only while it is open.
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

interface Dialog {
  readonly ref: RefObject<HTMLDialogElement | null>
  readonly isOpen: boolean
  readonly open: () => void
  readonly close: () => void
  /** For the `close` event of the element. */
  readonly onClose: () => void
}

export function useDialog(): Dialog {
  const ref = useRef<HTMLDialogElement>(null)
  const [isOpen, setOpen] = useState(false)
  const show = (): void => {
    if (ref.current?.open === false) ref.current.showModal()
  }
  useEffect(() => {
    if (isOpen) show()
  }, [isOpen])
  return {
    ref,
    isOpen,
    // The element may still be there, closed a moment ago: its `close` event comes later than the next key press.
    open: () => {
      show()
      setOpen(true)
    },
    close: () => ref.current?.close(),
    onClose: () => {
      if (ref.current?.open !== true) setOpen(false)
    },
  }
}
