// A dialog opened by a button, whose content exists only while it is open. It is named by its title, keeps the focus, speaks, and returns the focus.
import { h } from '../h.ts'
import type { ComponentChildren, RefObject, VNode } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { toTitle } from '../focus.ts'

interface Dialog {
  readonly ref: RefObject<HTMLDialogElement | null>
  /** The element around the button and the dialog. */
  readonly home: RefObject<HTMLSpanElement | null>
  readonly isOpen: boolean
  readonly open: () => void
  readonly close: () => void
  /** For the element's `close` event. */
  readonly onClose: () => void
}

/** Calls `onChange` when the dialog opens and when it has closed. */
export function useDialog(onChange?: (isOpen: boolean) => void): Dialog {
  const ref = useRef<HTMLDialogElement>(null)
  const home = useRef<HTMLSpanElement>(null)
  const [isOpen, setOpen] = useState(false)
  const show = (): void => {
    if (ref.current?.open === false) ref.current.showModal()
  }
  useEffect(() => {
    if (isOpen) show()
  }, [isOpen])
  // The object of the dialog may be gone, and its button too: then the focus moves to the view's title.
  useLayoutEffect(
    () => () => {
      if (home.current?.contains(document.activeElement) !== true) return
      ref.current?.close()
      toTitle()
    },
    [],
  )
  return {
    ref,
    home,
    isOpen,
    // The element may still exist, just closed: its `close` event comes after the next key press.
    open: () => {
      show()
      setOpen(true)
      onChange?.(true)
    },
    close: () => ref.current?.close(),
    onClose: () => {
      if (ref.current?.open === true) return
      setOpen(false)
      onChange?.(false)
    },
  }
}

interface Props {
  readonly dialog: Dialog
  readonly title: string
  /** Read aloud after the title. */
  readonly about?: ComponentChildren
  /** A question about something that cannot be undone here. */
  readonly isQuestion?: boolean
  readonly children?: ComponentChildren
}

/** Everything outside an open dialog is silent, including the page's voice: the dialog has its own. */
export function DialogBox({ dialog, title, about, isQuestion = false, children }: Props): VNode {
  const { announced } = useApp()
  const id = useId()
  return h(
    'dialog',
    {
      ref: dialog.ref,
      ...(isQuestion && { role: 'alertdialog' }),
      'aria-labelledby': `${id}-title`,
      ...(about !== undefined && { 'aria-describedby': `${id}-about` }),
      onClose: dialog.onClose,
    },
    h('h2', { id: `${id}-title` }, title),
    about !== undefined && h('div', { id: `${id}-about` }, about),
    children,
    h('div', { class: 'off-screen', role: 'status' }, announced),
  )
}
