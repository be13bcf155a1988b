// The reader's hands on a drawing in space: mouse, wheel, fingers, keys.

const steps = {ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20]};

export class Hands {
    constructor(stage) {
        this.stage = stage;
        this.camera = stage.scene.camera;
        this.fingers = new Map();
        const {canvas} = stage;
        canvas.tabIndex = 0;
        canvas.style.cursor = 'grab';
        canvas.style.touchAction = 'none';
        canvas.addEventListener('keydown', e => this.key(e));
        canvas.addEventListener('wheel', e => this.wheel(e), {passive: false});
        canvas.addEventListener('contextmenu', e => e.preventDefault());
        canvas.addEventListener('pointerdown', e => {
            canvas.setPointerCapture(e.pointerId);
            this.fingers.set(e.pointerId, [e.clientX, e.clientY]);
        });
        for (const name of ['pointerup', 'pointercancel'])
            canvas.addEventListener(name, e => this.fingers.delete(e.pointerId));
        canvas.addEventListener('pointermove', e => this.move(e));
    }

    move(e) {
        const before = this.fingers.get(e.pointerId);
        if (!before) return;
        const [dx, dy] = [e.clientX - before[0], e.clientY - before[1]],
            height = this.stage.canvas.clientHeight;
        if (this.fingers.size === 2) {
            const other = [...this.fingers.entries()].find(([id]) => id !== e.pointerId)[1],
                apart = p => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
            this.camera.zoom(apart(before) / apart([e.clientX, e.clientY]));
            this.camera.move(dx / 2, dy / 2, height);
        } else if (e.shiftKey || e.buttons & 6) this.camera.move(dx, dy, height);
        else this.camera.turn(dx, dy);
        this.fingers.set(e.pointerId, [e.clientX, e.clientY]);
        this.stage.draw();
    }

    // Without the focus the wheel is the page's.
    wheel(e) {
        if (!e.ctrlKey && document.activeElement !== this.stage.canvas) return;
        e.preventDefault();
        this.camera.zoom(Math.exp(0.0015 * Math.max(-200, Math.min(200, e.deltaY))));
        this.stage.draw();
    }

    key(e) {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const height = this.stage.canvas.clientHeight;
        if (steps[e.key]) {
            if (e.shiftKey) this.camera.move(...steps[e.key], height);
            else this.camera.turn(...steps[e.key]);
        } else if (e.key === '+' || e.key === '=') this.camera.zoom(0.8);
        else if (e.key === '-') this.camera.zoom(1.25);
        else if (e.key === 'f') this.stage.scene.isFit = false;
        else return;
        e.preventDefault();
        e.stopPropagation();
        if (e.key === 'f') this.stage.fit();
        else this.stage.draw();
    }
}
