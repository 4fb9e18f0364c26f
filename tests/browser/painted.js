// What a flame graph painted, compared with the tree that it is of: the same for the page and for HTML reports. To be evaluated
// in the page: an object of two functions.
({
  // Draws once more, and looks at each box of the painter's record and at its pixels: { boxes, labels, wrong: [text] }.
  check(canvas) {
    canvas.painter.record = []
    canvas.draw()
    const { tree, from, to, width, painter: { record } } = canvas
    const { words } = tree.profile
    const scale = width / (to - from)
    const ratio = canvas.canvas.width / width
    const copy = new OffscreenCanvas(canvas.canvas.width, canvas.canvas.height).getContext('2d', { willReadFrequently: true })
    copy.drawImage(canvas.canvas, 0, 0)
    const pixels = copy.getImageData(0, 0, canvas.canvas.width, canvas.canvas.height)
    const hexAt = (x, y) => {
      const at = 4 * (Math.floor(y * ratio) * pixels.width + Math.floor(x * ratio))
      return [...pixels.data.slice(at, at + 4)]
    }
    const boxOf = new Map(record.map((box) => [box.node, box]))
    const wrong = []
    for (const box of record) {
      const { node, x, y, label, colour } = box
      const complain = (what) => wrong.push(`${what}: ${JSON.stringify(box)}`)
      const [left, right] = [Math.max(0, (tree.start[node] - from) * scale), Math.min(width, (tree.start[node] + tree.total[node] - from) * scale)]
      if (right - left >= 0.5 ? Math.abs(x - left) + Math.abs(x + box.width - right) > 0.01 : box.width > 1.01) complain('not its own extent')
      const name = words.frames.name[tree.frame[node]]
      const parts = name === undefined ? [canvas.look.rootLabel] : [name, name.replace(`${words.spaces[words.frames.space[tree.frame[node]]]}.`, '')]
      const shown = label.replace(/^[+−] /, '').replace(/…$/, '')
      if (shown && name?.length < 200 && !parts.some((part) => part.startsWith(shown))) complain(`its name is ${name}`)
      const parent = boxOf.get(tree.parent[node])
      if (node > 0 && parent && (x < parent.x - 0.01 || x + box.width > parent.x + parent.width + 0.01)) complain("crosses its parent's edge")
      if (label && !parent && node > 0 && y >= 20 && canvas.direction === 'icicle') complain('has no parent')
      // A row's top is above its text.
      if (box.width > 40 && y >= 0 && y + 20 <= canvas.height && /^#/.test(colour) && canvas.isMatch === null && tree.level[node] >= tree.level[canvas.zoomed]) {
        const [red, green, blue] = hexAt(x + box.width / 2, y + 2.5)
        const hex = `#${[red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')}`
        if (hex !== colour) complain(`its pixels are ${hex}`)
      }
    }
    return { boxes: record.length, labels: record.filter((box) => box.label).length, wrong: wrong.slice(0, 5) }
  },

  // As many points of boxes with a label, anywhere in sight: [{ x, y, label }], where a label is without its marks.
  points(canvas, count) {
    canvas.painter.record = []
    canvas.draw()
    const place = canvas.canvas.getBoundingClientRect()
    let state = 12345
    const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296
    const points = []
    for (let tries = 0; points.length < count && tries < 200 * count; tries++) {
      const [x, y] = [random() * place.width, random() * place.height]
      const box = canvas.painter.record.find((one) => one.label && one.node > 0 && x > one.x && x < one.x + one.width && y > one.y && y < one.y + 20)
      if (!box || document.elementFromPoint(place.left + x, place.top + y)?.closest('.flame-scroll') !== canvas.scroller) continue
      points.push({ x: place.left + x, y: place.top + y, label: box.label.replace(/^[+−] /, '').replace(/…$/, '') })
    }
    return points
  },
})
